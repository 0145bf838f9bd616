// Eight goroutines take turns with one mutex, and each computes while it has it.
package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

var account sync.Mutex
var waited int64
var balance int

func book() {
	begun := time.Now()
	account.Lock()
	atomic.AddInt64(&waited, int64(time.Since(begun)))
	for end := time.Now().Add(300 * time.Microsecond); time.Now().Before(end); {
		balance++
	}
	account.Unlock()
}

func main() {
	var all sync.WaitGroup
	for client := 0; client < 8; client++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := 0; i < 400; i++ {
				book()
				time.Sleep(100 * time.Microsecond)
			}
		}()
	}
	all.Wait()
	fmt.Println("truth waited_ns", waited)
}
