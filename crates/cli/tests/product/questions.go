// Asks a server for one row after the other, each over the same connection.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
)

//go:noinline
func load(connection net.Conn, answers *bufio.Reader, row int) string {
	fmt.Fprintf(connection, "row %d\n", row)
	answer, _ := answers.ReadString('\n')
	return answer
}

func main() {
	connection, err := net.Dial("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		panic(err)
	}
	answers := bufio.NewReader(connection)
	for row := 0; row < 60; row++ {
		load(connection, answers, row)
	}
}
