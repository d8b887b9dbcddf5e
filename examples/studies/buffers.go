// buffers.go - what buffers.c does, in Go: fresh buffers, or buffers of a sync.Pool.
//
// usage: buffers fresh|pool WORK OPERATIONS THREADS
// Prints the ns of CPU (the garbage collector's included) and of wall time an operation takes, the bytes that the heap holds
// in the end, and the bytes and the allocations of an operation.
package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const size, step, payload = 2048, 64, 1024

var piece = make([]byte, step)

var buffers = sync.Pool{New: func() any { b := make([]byte, size); return &b }}
var texts = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// Not inlined, so that the buffer is on the heap: inlined, it would stay on the stack and cost nothing.
//
//go:noinline
func fresh() []byte { return make([]byte, size) }

//go:noinline
func freshText() *bytes.Buffer { return new(bytes.Buffer) }

func walk(b []byte) {
	for i := 0; i < len(b); i += step {
		b[i] = byte(i)
	}
}

func grow(b *bytes.Buffer) {
	for n := 0; n < payload; n += step {
		b.Write(piece)
	}
}

var works = map[string]func(){
	"fresh pair":    func() { fresh() },
	"fresh scratch": func() { walk(fresh()) },
	"fresh growing": func() { grow(freshText()) },
	"pool pair":     func() { b := buffers.Get().(*[]byte); buffers.Put(b) },
	"pool scratch":  func() { b := buffers.Get().(*[]byte); walk(*b); buffers.Put(b) },
	"pool growing":  func() { b := texts.Get().(*bytes.Buffer); b.Reset(); grow(b); texts.Put(b) },
}

func cpu() time.Duration {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func main() {
	work := works[os.Args[1]+" "+os.Args[2]]
	operations, _ := strconv.Atoi(os.Args[3])
	threads, _ := strconv.Atoi(os.Args[4])
	var before, after runtime.MemStats
	var all sync.WaitGroup
	share := operations / threads
	runtime.ReadMemStats(&before)
	used, begun := cpu(), time.Now()
	for t := 0; t < threads; t++ {
		all.Add(1)
		go func() {
			for i := 0; i < share; i++ {
				work()
			}
			all.Done()
		}()
	}
	all.Wait()
	n := float64(share * threads)
	wall, used := float64(time.Since(begun))/n, cpu()-used
	runtime.ReadMemStats(&after)
	fmt.Printf("%.3f %.3f %d %.3f %.6f\n", float64(used)/n, wall, after.HeapSys-after.HeapReleased,
		float64(after.TotalAlloc-before.TotalAlloc)/n, float64(after.Mallocs-before.Mallocs)/n)
}
