// Package notify wakes goroutines.
//
// Floor 0.
package notify

import "sync"

// Wake wakes the reader of a channel of capacity one; several calls before it reads are one. It does not block.
func Wake(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Listeners are functions to call with news. The zero value is ready to use.
type Listeners[T any] struct {
	mu   sync.Mutex
	next int
	all  map[int]func(T)
}

// Listen adds a function. It is not called any more once stop has returned.
func (l *Listeners[T]) Listen(f func(T)) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[int]func(T){}
	}
	id := l.next
	l.next++
	l.all[id] = f
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.all, id)
	}
}

// Notify calls the functions, one after the other.
func (l *Listeners[T]) Notify(news T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.all {
		f(news)
	}
}
