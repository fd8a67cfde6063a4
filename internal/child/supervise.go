package child

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// reapWait is how long a killed process may take to go away. Only one that
// hangs inside the kernel (a dead network file system) takes longer.
const reapWait = 10 * time.Second

// turn is what the supervisor does next.
type turn struct {
	pause   bool            // back off, then start again
	stop    bool            // finish, with err
	err     error           // why the stop was not clean
	stuck   bool            // the process could not be ended
	pid     int             // the process the stop was about
	restart *restartRequest // start again at once and answer this
}

// supervise is the child's goroutine: it runs one process after another until
// it is told to stop.
func (c *Child) supervise() {
	defer close(c.done)
	var delay time.Duration
	var ask *restartRequest
	for {
		began := time.Now()
		next := c.run(ask)
		if next.pause {
			delay = c.spec.Backoff.next(delay, time.Since(began))
			next = c.pause(delay)
		}
		if next.stop {
			if next.stuck {
				c.stopErr = next.err
			} else {
				spawn.release()
			}
			c.emit(Change{State: Stopped, PID: next.pid, Err: next.err})
			return
		}
		if ask = next.restart; ask != nil {
			delay = 0
		}
	}
}

// run starts one process and stays with it until it has ended.
func (c *Child) run(ask *restartRequest) turn {
	select {
	case <-c.stopping:
		return turn{stop: true}
	default:
	}
	p, err := c.launch(ask != nil)
	if err != nil {
		err = fmt.Errorf("%s: %w", c.spec.Name, err)
		if ask != nil {
			ask.done <- err
		}
		c.emit(Change{State: Exited, Err: err})
		return c.afterExit()
	}
	c.emit(Change{State: Started, PID: p.pid})
	if ask != nil {
		ask.done <- nil
	}
	select {
	case <-p.gone:
		change := Change{State: Exited, PID: p.pid, Tail: p.tail()}
		if p.err != nil {
			change.Err = fmt.Errorf("%s: %w", c.spec.Name, p.err)
		}
		c.emit(change)
		return c.afterExit()
	case <-c.stopping:
		next := turn{stop: true, pid: p.pid}
		next.err, next.stuck = c.end(p)
		return next
	case ask := <-c.asks:
		if err, stuck := c.makeWay(p, ask); stuck {
			ask.done <- err
			return turn{stop: true, pid: p.pid, err: err, stuck: true}
		}
		c.emit(Change{State: Restarting, PID: p.pid})
		return turn{restart: ask}
	}
}

func (c *Child) afterExit() turn {
	if c.spec.Once {
		return turn{stop: true}
	}
	return turn{pause: true}
}

// pause waits out the back-off.
func (c *Child) pause(delay time.Duration) turn {
	c.emit(Change{State: Restarting, Backoff: delay})
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return turn{}
	case <-c.stopping:
		return turn{stop: true}
	case ask := <-c.asks:
		return turn{restart: ask}
	}
}

// end stops p in order: TERM, grace, KILL. Stuck says that p is still there.
func (c *Child) end(p *process) (err error, stuck bool) { //nolint:revive // the error explains both outcomes
	p.ending.Store(true)
	select {
	case <-c.killing:
	default:
		p.terminate()
		grace := time.NewTimer(c.spec.StopGrace)
		defer grace.Stop()
		select {
		case <-p.gone:
			return nil, false
		case <-c.killing:
		case <-grace.C:
			err = fmt.Errorf("%s: killed: SIGTERM did not end it within %v", c.spec.Name, c.spec.StopGrace)
		}
	}
	if killErr := c.kill(p); killErr != nil {
		return killErr, true
	}
	return err, false
}

// kill ends p at once and waits until it has been reaped.
func (c *Child) kill(p *process) error {
	sigErr := p.signalGroup(unix.SIGKILL)
	patience := time.NewTimer(reapWait)
	defer patience.Stop()
	select {
	case <-p.gone:
		return nil
	case <-patience.C:
		if sigErr != nil {
			return fmt.Errorf("%s: process %d: %w", c.spec.Name, p.pid, sigErr)
		}
		return fmt.Errorf("%s: process %d is still there %v after SIGKILL", c.spec.Name, p.pid, reapWait)
	}
}
