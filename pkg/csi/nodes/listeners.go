package nodes

import "sync"

// listeners are those who want to be told something. Nobody is called any more when the function that listen returned has
// returned. The zero value is ready to use.
type listeners[T any] struct {
	mu   sync.Mutex
	next int
	all  map[int]func(T)
}

func (l *listeners[T]) listen(f func(T)) (stop func()) {
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

func (l *listeners[T]) tell(what T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.all {
		f(what)
	}
}

// poke wakes the reader of a channel of capacity one; several pokes before it reads are one.
func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
