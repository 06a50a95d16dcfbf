// Go's net/http with the command line of C/limit.c: MODE URL name=value…
package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type options struct {
	mode, url, file string
	inFlight, count int
	seconds, warmUp float64
	http2, closes   bool
}

func parse(arguments []string) options {
	o := options{inFlight: 1, seconds: 2, warmUp: 0.3}
	if len(arguments) < 3 {
		fail("MODE URL [in-flight=N seconds=S warm-up=S count=N file=PATH http2=1 close=1]")
	}
	o.mode, o.url = arguments[1], arguments[2]
	for _, argument := range arguments[3:] {
		name, value, _ := strings.Cut(argument, "=")
		switch name {
		case "in-flight":
			o.inFlight, _ = strconv.Atoi(value)
		case "seconds":
			o.seconds, _ = strconv.ParseFloat(value, 64)
		case "warm-up":
			o.warmUp, _ = strconv.ParseFloat(value, 64)
		case "count":
			o.count, _ = strconv.Atoi(value)
		case "file":
			o.file = value
		case "http2":
			o.http2 = value == "1"
		case "close":
			o.closes = value == "1"
		default:
			fail("unknown option " + name)
		}
	}
	if o.mode == "hold" {
		o.count = o.inFlight
	}
	return o
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, "go:", message)
	os.Exit(1)
}

// A line of /proc/self/status, in KiB.
func status(name string) int {
	data, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(line, name+":") {
			value, _ := strconv.Atoi(strings.Fields(line)[1])
			return value
		}
	}
	return 0
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(usage.Utime) + seconds(usage.Stime)
}

type tally struct {
	started, succeeded, failed, bytes int64
	over                              atomic.Bool
	firstError                        atomic.Value
}

func (t *tally) reset() {
	atomic.StoreInt64(&t.succeeded, 0)
	atomic.StoreInt64(&t.bytes, 0)
}

func once(client *http.Client, o *options, url string) (int64, error) {
	method, body := http.MethodGet, io.Reader(nil)
	var sent int64
	if o.mode == "upload" {
		file, err := os.Open(o.file)
		if err != nil {
			return 0, err
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			return 0, err
		}
		method, body, sent = http.MethodPut, file, info.Size()
	}
	request, err := http.NewRequest(method, url, body)
	if err != nil {
		return 0, err
	}
	if sent > 0 {
		request.ContentLength = sent
	}
	request.Close = o.closes
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if o.mode == "json" {
		return decoded(response)
	}
	received, err := io.Copy(io.Discard, response.Body)
	if err != nil {
		return 0, err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return 0, fmt.Errorf("status %d", response.StatusCode)
	}
	if o.mode == "upload" {
		return sent, nil
	}
	return received, nil
}

type item struct {
	ID       int      `json:"id"`
	Name     string   `json:"name"`
	Score    float64  `json:"score"`
	IsActive bool     `json:"isActive"`
	Tags     []string `json:"tags"`
}

func decoded(response *http.Response) (int64, error) {
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	var items []item
	return int64(len(data)), json.Unmarshal(data, &items)
}

// The runtime's allocations since its start, which do not use malloc.
func mallocs() uint64 {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.Mallocs
}

func main() {
	o := parse(os.Args)
	limit := syscall.Rlimit{}
	syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	limit.Cur = limit.Max
	syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)

	transport := &http.Transport{
		MaxIdleConns:        o.inFlight,
		MaxIdleConnsPerHost: o.inFlight,
		MaxConnsPerHost:     o.inFlight,
		ForceAttemptHTTP2:   o.http2,
		TLSClientConfig:     &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(64)},
	}
	if !o.http2 {
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	client := &http.Client{Transport: transport}
	var t tally
	rssBefore := status("VmRSS")
	began, cpuBefore := time.Now(), cpuSeconds()

	var workers sync.WaitGroup
	for n := 0; n < o.inFlight; n++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for !t.over.Load() {
				number := atomic.AddInt64(&t.started, 1)
				if o.count > 0 && number > int64(o.count) {
					return
				}
				// Another URL each time, as in the other clients.
				bytes, err := once(client, &o, o.url+"?"+strconv.FormatInt(number, 10))
				if t.over.Load() {
					return
				}
				if err != nil {
					atomic.AddInt64(&t.failed, 1)
					t.firstError.CompareAndSwap(nil, err.Error())
				} else {
					atomic.AddInt64(&t.succeeded, 1)
					atomic.AddInt64(&t.bytes, bytes)
				}
			}
		}()
	}
	if o.count == 0 {
		time.Sleep(time.Duration(o.warmUp * float64(time.Second)))
		t.reset()
		began, cpuBefore = time.Now(), cpuSeconds()
		time.Sleep(time.Duration(o.seconds * float64(time.Second)))
	} else {
		workers.Wait()
	}
	elapsed, cpu := time.Since(began).Seconds(), cpuSeconds()-cpuBefore
	t.over.Store(true)
	message, _ := t.firstError.Load().(string)
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"client": "go", "requests": atomic.LoadInt64(&t.succeeded), "failures": atomic.LoadInt64(&t.failed),
		"seconds": elapsed, "cpu": cpu, "bytes": atomic.LoadInt64(&t.bytes),
		"rss_before_kb": rssBefore, "rss_peak_kb": status("VmHWM"), "mallocs": mallocs(), "error": message,
	})
}
