package main

import (
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// upTo are the bounds of the histogram of response times, in seconds.
var upTo = []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1}

type endpoint struct {
	nanos   uint64
	buckets [8]uint64
}

var endpoints = struct {
	sync.Mutex
	byName map[string]*endpoint
}{byName: map[string]*endpoint{}}

// counted counts requests and how long they took.
func counted(name string, handler http.HandlerFunc) http.HandlerFunc {
	counts := &endpoint{}
	endpoints.Lock()
	endpoints.byName[name] = counts
	endpoints.Unlock()
	return func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		handler(w, r)
		took := time.Since(began)
		atomic.AddUint64(&counts.nanos, uint64(took))
		atomic.AddUint64(&counts.buckets[sort.SearchFloat64s(upTo, took.Seconds())], 1)
	}
}

func metricsEndpoint(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	one := func(kind, name, help string, value float64) {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n%s %g\n", name, help, name, kind, name, value)
	}
	one("gauge", "go_goroutines", "Number of goroutines that currently exist.", float64(runtime.NumGoroutine()))
	one("gauge", "go_memstats_heap_alloc_bytes", "Bytes of heap objects.", float64(memory.HeapAlloc))
	one("gauge", "go_memstats_heap_inuse_bytes", "Bytes in heap spans in use.", float64(memory.HeapInuse))
	one("gauge", "go_memstats_heap_idle_bytes", "Bytes in heap spans not in use.", float64(memory.HeapIdle))
	one("gauge", "go_memstats_heap_released_bytes", "Bytes returned to the system.", float64(memory.HeapReleased))
	one("gauge", "go_memstats_heap_sys_bytes", "Bytes of heap got from the system.", float64(memory.HeapSys))
	one("gauge", "go_memstats_heap_objects", "Number of heap objects.", float64(memory.HeapObjects))
	one("gauge", "go_memstats_next_gc_bytes", "Heap size at which the next collection begins.", float64(memory.NextGC))
	one("counter", "go_memstats_alloc_bytes_total", "Bytes allocated, freed ones too.", float64(memory.TotalAlloc))
	one("counter", "go_memstats_mallocs_total", "Number of allocations.", float64(memory.Mallocs))
	one("counter", "go_memstats_frees_total", "Number of objects freed.", float64(memory.Frees))
	one("gauge", "slots_in_use", "Slots of the pool that are held.", float64(len(slots)))
	one("gauge", "slots_limit", "Slots of the pool.", float64(cap(slots)))
	used := time.Duration(atomic.LoadInt64(&usedNanos)).Seconds()
	one("counter", "slots_use_seconds_total", "How long slots were held, added up.", used)
	waited := time.Duration(atomic.LoadInt64(&waitedNanos)).Seconds()
	one("counter", "slots_wait_seconds_total", "How long slots were waited for.", waited)
	collections(w)
	requests(w)
}

func collections(w http.ResponseWriter) {
	stats := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
	debug.ReadGCStats(&stats)
	const name = "go_gc_duration_seconds"
	fmt.Fprintf(w, "# HELP %s Pauses of garbage collections.\n# TYPE %s summary\n", name, name)
	for i, quantile := range []string{"0", "0.25", "0.5", "0.75", "1"} {
		fmt.Fprintf(w, "%s{quantile=%q} %g\n", name, quantile, stats.PauseQuantiles[i].Seconds())
	}
	fmt.Fprintf(w, "%s_sum %g\n%s_count %d\n", name, stats.PauseTotal.Seconds(), name, stats.NumGC)
}

func requests(w http.ResponseWriter) {
	endpoints.Lock()
	defer endpoints.Unlock()
	names := make([]string, 0, len(endpoints.byName))
	for name := range endpoints.byName {
		names = append(names, name)
	}
	sort.Strings(names)
	const name = "gotarget_request_seconds"
	fmt.Fprintf(w, "# HELP %s Time to answer.\n# TYPE %s histogram\n", name, name)
	for _, each := range names {
		counts := endpoints.byName[each]
		sum := uint64(0)
		for i, bound := range upTo {
			sum += atomic.LoadUint64(&counts.buckets[i])
			fmt.Fprintf(w, "%s_bucket{endpoint=%q,le=\"%g\"} %d\n", name, each, bound, sum)
		}
		sum += atomic.LoadUint64(&counts.buckets[len(upTo)])
		fmt.Fprintf(w, "%s_bucket{endpoint=%q,le=\"+Inf\"} %d\n", name, each, sum)
		fmt.Fprintf(w, "%s_sum{endpoint=%q} %g\n", name, each, float64(atomic.LoadUint64(&counts.nanos))/1e9)
		fmt.Fprintf(w, "%s_count{endpoint=%q} %d\n", name, each, sum)
	}
}
