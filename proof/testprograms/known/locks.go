// Four goroutines sleep in turn with a mutex.
package main

import (
	"fmt"
	"sync"
	"time"
)

var held sync.Mutex

func main() {
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for j := 0; j < 20; j++ {
				held.Lock()
				time.Sleep(time.Millisecond)
				held.Unlock()
			}
		}()
	}
	all.Wait()
	fmt.Println("done")
}
