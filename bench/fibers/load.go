// Loads for bench/fibers.py. Each prints its CPU time for a unit of work, ns.
//
//	load pingpong ROUNDS    two goroutines hand a number to and fro
//	load http SECONDS       a server and eight clients in one process
//	load parked COUNT       so many goroutines wait for a channel, for five seconds
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

func cpuNs() int64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func pingpong(rounds int) int64 {
	ping, pong := make(chan int), make(chan int)
	go func() {
		for ball := range ping {
			pong <- ball
		}
	}()
	for round := 0; round < rounds; round++ {
		ping <- round
		<-pong
	}
	return int64(rounds)
}

func serve(seconds int) int64 {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	body := make([]byte, 2000)
	go http.Serve(listener, http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) { answer.Write(body) }))
	var requests atomic.Int64
	until := time.Now().Add(time.Duration(seconds) * time.Second)
	done := make(chan bool)
	for client := 0; client < 8; client++ {
		go func() {
			client := &http.Client{Transport: &http.Transport{}}
			for time.Now().Before(until) {
				answer, err := client.Get("http://" + listener.Addr().String())
				if err != nil {
					panic(err)
				}
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
				requests.Add(1)
			}
			done <- true
		}()
	}
	for client := 0; client < 8; client++ {
		<-done
	}
	return requests.Load()
}

func park(count int) int64 {
	never := make(chan int)
	for i := 0; i < count; i++ {
		go func() { <-never }()
	}
	time.Sleep(5 * time.Second)
	return 1
}

func main() {
	number, _ := strconv.Atoi(os.Args[2])
	loads := map[string]func(int) int64{"pingpong": pingpong, "http": serve, "parked": park}
	before := cpuNs()
	units := loads[os.Args[1]](number)
	fmt.Println(float64(cpuNs()-before) / float64(units))
}
