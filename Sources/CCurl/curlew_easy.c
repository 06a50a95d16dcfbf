#include "curlew_easy.h"

void curlew_read_metrics(CURL *easy, struct curlew_metrics *out) {
    out->name_lookup = curlew_get_offset(easy, CURLINFO_NAMELOOKUP_TIME_T);
    out->connected = curlew_get_offset(easy, CURLINFO_CONNECT_TIME_T);
    out->tls = curlew_get_offset(easy, CURLINFO_APPCONNECT_TIME_T);
    out->pretransfer = curlew_get_offset(easy, CURLINFO_PRETRANSFER_TIME_T);
    out->first_byte = curlew_get_offset(easy, CURLINFO_STARTTRANSFER_TIME_T);
    out->total = curlew_get_offset(easy, CURLINFO_TOTAL_TIME_T);
    out->uploaded = curlew_get_offset(easy, CURLINFO_SIZE_UPLOAD_T);
    out->downloaded = curlew_get_offset(easy, CURLINFO_SIZE_DOWNLOAD_T);
    out->request_size = curlew_get_long(easy, CURLINFO_REQUEST_SIZE);
    out->header_size = curlew_get_long(easy, CURLINFO_HEADER_SIZE);
    out->new_connections = curlew_get_long(easy, CURLINFO_NUM_CONNECTS);
    out->remote_port = curlew_get_long(easy, CURLINFO_PRIMARY_PORT);
    out->local_port = curlew_get_long(easy, CURLINFO_LOCAL_PORT);
    out->remote_ip = curlew_get_string(easy, CURLINFO_PRIMARY_IP);
    out->local_ip = curlew_get_string(easy, CURLINFO_LOCAL_IP);
}
