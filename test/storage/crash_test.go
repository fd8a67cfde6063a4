package storage

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// Any process dies while volumes are created, attached, expanded, copied, restored, detached and deleted: in the end
// everything is as if none had died, and after the deletion nothing is left.
func TestCrashes(t *testing.T) {
	t.Logf("-seed %d", *seed)
	w := up(t, "zones-us-eu")
	for n := range *rounds {
		c := w.chaos(rand.New(rand.NewPCG(*seed, uint64(n))))
		l := &life{world: w, id: fmt.Sprintf("round-%d", n), claims: *claims}
		t.Logf("round %d", n)
		c.during(c.harms(), func(over <-chan struct{}) {
			for _, step := range []func(){
				l.provision, func() { l.expand(l.claim(0)) }, l.snapshot, func() { l.expand(l.claim(1)) }, l.fromSnapshot,
			} {
				step()
				c.pause()
			}
			for !closed(over) { // detached and attached all the while
				l.scale(1)
				c.pause()
				l.scale(l.claims)
				c.pause()
			}
		})
		w.await("everything is right", patience, l.wrong)
		c.during(c.harms(), func(<-chan struct{}) {
			for _, step := range l.removal() {
				step()
				c.pause()
			}
		})
		w.await("nothing is left", patience, w.left)
	}
}

// pause is a random while.
func (c *chaos) pause() { time.Sleep(c.between(0, 2*time.Second)) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
