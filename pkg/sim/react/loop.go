package react

import (
	"container/heap"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

// loop runs functions one after the other, at once or at a time. Functions may be added from anywhere, with any lock
// held.
type loop struct {
	mu    sync.Mutex
	queue jobs
	count uint64
	wake  chan struct{} // holds one token when the queue changed

	stop chan struct{}
	once sync.Once
	done chan struct{}
}

// job is a function with the time it is due, and its place among those of that time.
type job struct {
	due   time.Time
	count uint64
	run   func()
}

func startLoop() *loop {
	l := &loop{wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go l.run()
	return l
}

// soon runs f after all that is due already.
func (l *loop) soon(f func()) { l.after(0, f) }

// after runs f in d.
func (l *loop) after(d time.Duration, f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	heap.Push(&l.queue, job{due: time.Now().Add(d), count: l.count, run: f})
	notify.Wake(l.wake)
}

// close forgets what is not due, and waits for what runs. Closing again is harmless.
func (l *loop) close() {
	l.once.Do(func() { close(l.stop) })
	<-l.done
}

func (l *loop) run() {
	defer close(l.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-l.stop:
			return
		default:
		}
		next, wait := l.next()
		if next != nil {
			next()
			continue
		}
		timer.Reset(wait)
		select {
		case <-l.stop:
			return
		case <-l.wake:
		case <-timer.C:
		}
	}
}

// next takes a function that is due, or tells how long there is none.
func (l *loop) next() (func(), time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return nil, time.Hour
	}
	if wait := time.Until(l.queue[0].due); wait > 0 {
		return nil, wait
	}
	return heap.Pop(&l.queue).(job).run, 0
}

// jobs is a heap by due time, then by order.
type jobs []job

func (q jobs) Len() int { return len(q) }
func (q jobs) Less(i, j int) bool {
	if !q[i].due.Equal(q[j].due) {
		return q[i].due.Before(q[j].due)
	}
	return q[i].count < q[j].count
}
func (q jobs) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *jobs) Push(x any)   { *q = append(*q, x.(job)) }
func (q *jobs) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	(*q)[last] = job{}
	*q = (*q)[:last]
	return x
}
