package ccm

import (
	"fmt"
	"sync"
	"time"
)

// beat is how often something is said while one thing takes its time.
const beat = 4 * time.Second

// voice tells what is being done, and says it again as long as it takes.
type voice struct {
	say func(string)

	mu    sync.Mutex
	what  func() string
	since time.Time

	end  chan struct{}
	gone chan struct{}
}

// speak begins; the caller ends it with quiet.
func speak(say func(string)) *voice {
	v := &voice{say: say, since: time.Now(), end: make(chan struct{}), gone: make(chan struct{})}
	go v.repeat()
	return v
}

// quiet ends it, and waits for what is being said.
func (v *voice) quiet() {
	close(v.end)
	<-v.gone
}

// now says what is begun.
func (v *voice) now(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	v.doing(func() string { return text })
	v.say(text)
}

// doing is what is said from the next beat on.
func (v *voice) doing(what func() string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.what, v.since = what, time.Now()
}

func (v *voice) repeat() {
	defer close(v.gone)
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-v.end:
			return
		case <-tick.C:
		}
		v.mu.Lock()
		what, since := v.what, v.since
		v.mu.Unlock()
		if what != nil && time.Since(since) >= beat/2 {
			v.say(fmt.Sprintf("%s (%.0f s)", what(), time.Since(since).Seconds()))
		}
	}
}
