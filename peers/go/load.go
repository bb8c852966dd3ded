package main

import (
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// heavyRounds is how much more heavy does than light.
var heavyRounds = 3

// work uses processor time for about the given duration.
func work(long time.Duration) uint64 {
	sum := uint64(1)
	for end := time.Now().Add(long); time.Now().Before(end); {
		sum = heavy(sum)
		sum = light(sum)
		sum += recursive(12, sum)
	}
	return sum
}

//go:noinline
func heavy(sum uint64) uint64 {
	for i := 0; i < heavyRounds; i++ {
		sum = rounds(sum)
	}
	return sum
}

// order is a request with a fixed amount of work: a slower price makes the request slower.
func order(times int) uint64 {
	sum := uint64(1)
	for ; times > 0; times-- {
		sum = light(price(sum))
	}
	return sum
}

// price is slowed down like heavy, and all of its time is its own.
//
//go:noinline
func price(sum uint64) uint64 {
	for i := 0; i < 4000*heavyRounds; i++ {
		sum = sum*0x9e3779b97f4a7c15 ^ sum>>7
	}
	return sum
}

//go:noinline
func light(sum uint64) uint64 {
	return rounds(sum)
}

// rounds is called from two places, so that its cost has two callers.
//
//go:noinline
func rounds(sum uint64) uint64 {
	for i := 0; i < 4000; i++ {
		sum = mix(sum)
	}
	return sum
}

// mix is small enough to be inlined.
func mix(x uint64) uint64 {
	return rotate(x*0x9e3779b97f4a7c15) ^ x>>7
}

// rotate is inlined into mix, which is inlined itself.
func rotate(x uint64) uint64 {
	return x<<13 | x>>51
}

// recursive calls itself: its cumulative value must count each sample once.
//
//go:noinline
func recursive(depth int, sum uint64) uint64 {
	if depth == 0 {
		return light(sum)
	}
	return recursive(depth-1, sum+1) + 1
}

const keptCalls = 16

var kept struct {
	sync.Mutex
	calls [keptCalls][][]byte
	next  int
}

// allocate makes garbage, and pieces that stay in use until later calls replace them.
func allocate(kib int) int {
	pieces := [][]byte{largePiece(kib / 2)}
	for bytes := kib << 9; bytes > 0; bytes -= 256 {
		pieces = append(pieces, smallPiece())
	}
	kept.Lock()
	defer kept.Unlock()
	kept.calls[kept.next%keptCalls] = pieces[:len(pieces)/2+1]
	kept.next++
	return len(pieces)
}

//go:noinline
func largePiece(kib int) []byte {
	return make([]byte, kib<<10)
}

//go:noinline
func smallPiece() []byte {
	return make([]byte, 256)
}

var contended sync.Mutex

// contend makes goroutines wait for one lock.
func contend(goroutines int) {
	var all sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			holdTheLock()
		}()
	}
	all.Wait()
}

func holdTheLock() {
	contended.Lock()
	defer contended.Unlock()
	time.Sleep(time.Millisecond)
}

func waitForever() {
	select {}
}

// slots are the pool's: as many as POOL says.
var slots = make(chan struct{}, poolSize())

// waitedNanos is how long slots were waited for, and usedNanos how long they were held.
var waitedNanos, usedNanos int64

func poolSize() int {
	size, err := strconv.Atoi(os.Getenv("POOL"))
	if err != nil || size < 1 {
		return 4
	}
	return size
}

// holdASlot waits for a slot of the pool and holds it for the given duration.
func holdASlot(long time.Duration) {
	began := time.Now()
	slots <- struct{}{}
	held := time.Now()
	atomic.AddInt64(&waitedNanos, int64(held.Sub(began)))
	time.Sleep(long)
	atomic.AddInt64(&usedNanos, int64(time.Since(held)))
	<-slots
}
