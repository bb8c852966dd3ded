// Command gotarget is a small service in Go for tests: it uses processor time in functions with names, allocates,
// contends for a lock, and has the endpoints by which services in Go are usually observed: /debug/pprof and /metrics. It
// ends when its standard input does, hence with the process that started it.
//
// Endpoints:
//
//	/            204
//	/work?ms=N   uses N milliseconds (20) of processor time, three parts in heavy to one in light
//	/order?n=N   N times (200) a fixed piece of work, three parts in price to one in light
//	/alloc?kb=N  allocates N KiB (1024) in small and large pieces; the last few calls' pieces stay in use
//	/lock?n=N    N goroutines (4) take one lock in turn, each holding it for 1 ms
//	/leak?n=N    N goroutines (1) that wait for ever
//	/pool?ms=N   holds one of the pool's slots for N milliseconds (20); the environment variable POOL says how many there
//	             are (4), and /metrics shows how many are in use and how long they were waited for
//	/metrics     Prometheus text
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"strconv"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	mutexFraction := flag.Int("mutex-fraction", 0, "one in so many contentions is sampled; 0 is off")
	blockRate := flag.Int("block-rate", 0, "one sample in so many nanoseconds of waiting; 0 is off")
	memoryRate := flag.Int("memory-rate", runtime.MemProfileRate, "one sample in so many bytes; 0 is off")
	slowdown := flag.Int("slowdown", 1, "heavy and price do their work so many times")
	flag.Parse()
	runtime.MemProfileRate = *memoryRate
	runtime.SetMutexProfileFraction(*mutexFraction)
	runtime.SetBlockProfileRate(*blockRate)
	heavyRounds *= *slowdown

	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/work", counted("work", workEndpoint))
	http.HandleFunc("/order", counted("order", orderEndpoint))
	http.HandleFunc("/alloc", counted("alloc", allocEndpoint))
	http.HandleFunc("/lock", counted("lock", lockEndpoint))
	http.HandleFunc("/leak", counted("leak", leakEndpoint))
	http.HandleFunc("/pool", counted("pool", poolEndpoint))
	http.HandleFunc("/metrics", metricsEndpoint)
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	fmt.Println("listening on", listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	log.Fatal(http.Serve(listener, nil))
}

// number reads a parameter between 1 and most.
func number(r *http.Request, name string, usual, most int) int {
	n, err := strconv.Atoi(r.URL.Query().Get(name))
	switch {
	case err != nil || n < 1:
		return usual
	case n > most:
		return most
	}
	return n
}

func workEndpoint(w http.ResponseWriter, r *http.Request) {
	until := time.Duration(number(r, "ms", 20, 60_000)) * time.Millisecond
	fmt.Fprintln(w, work(until))
}

func orderEndpoint(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(w, order(number(r, "n", 200, 100_000)))
}

func allocEndpoint(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(w, allocate(number(r, "kb", 1024, 64<<10)))
}

func lockEndpoint(w http.ResponseWriter, r *http.Request) {
	contend(number(r, "n", 4, 64))
	w.WriteHeader(http.StatusNoContent)
}

func leakEndpoint(w http.ResponseWriter, r *http.Request) {
	for i := number(r, "n", 1, 1000); i > 0; i-- {
		go waitForever()
	}
	w.WriteHeader(http.StatusNoContent)
}

func poolEndpoint(w http.ResponseWriter, r *http.Request) {
	holdASlot(time.Duration(number(r, "ms", 20, 1000)) * time.Millisecond)
	w.WriteHeader(http.StatusNoContent)
}
