// A ledger whose lock is held for long, and a clerk who is slow to take orders. Prints how long goroutines waited, as they
// measured it themselves.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"
)

var (
	ledger      sync.Mutex
	orders      = make(chan int)
	lockWaitNs  atomic.Int64
	orderWaitNs atomic.Int64
	balance     int
)

//go:noinline
func audit(rounds int) (sum int) {
	for i := 0; i < rounds; i++ {
		sum = sum*31 + i
	}
	return sum
}

//go:noinline
func book(done *sync.WaitGroup, until time.Time) {
	defer done.Done()
	for time.Now().Before(until) {
		began := time.Now()
		ledger.Lock()
		lockWaitNs.Add(int64(time.Since(began)))
		balance += audit(20_000_000)
		ledger.Unlock()
	}
}

//go:noinline
func order(done *sync.WaitGroup, until time.Time) {
	defer done.Done()
	for number := 0; time.Now().Before(until); number++ {
		began := time.Now()
		orders <- number
		orderWaitNs.Add(int64(time.Since(began)))
	}
}

//go:noinline
func clerk() {
	for range orders {
		time.Sleep(60 * time.Millisecond)
	}
}

func main() {
	if len(os.Args) > 1 {
		// A goroutine of the library waits for signals, in a call, from now on.
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	var done sync.WaitGroup
	until := time.Now().Add(2500 * time.Millisecond)
	go clerk()
	for worker := 0; worker < 4; worker++ {
		done.Add(2)
		go book(&done, until)
		go order(&done, until)
	}
	done.Wait()
	fmt.Println("truth lock_wait_s", float64(lockWaitNs.Load())/1e9)
	fmt.Println("truth order_wait_s", float64(orderWaitNs.Load())/1e9)
}
