package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// sent are attempts at making something of which it is not known what became: a second attempt would make a second one. The
// keys are those of what is made.
type sent struct {
	mu sync.Mutex
	to map[string]attempt
}

// attempt is where something was asked for.
type attempt struct {
	vcenter string
	// task is what the vCenter makes it in; zero when it has not said so.
	task ref
}

func (n *sent) note(key string, a attempt) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.to == nil || len(n.to) >= maxHolders { // it is then as after a restart
		n.to = map[string]attempt{}
	}
	n.to[key] = a
}

func (n *sent) settle(key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.to, key)
}

// end settles an attempt that ended with err, or keeps it when that leaves its outcome open.
func (n *sent) end(key string, a attempt, err error) {
	if unknown(err) {
		n.note(key, a)
		return
	}
	n.settle(key)
}

func (n *sent) get(key string) attempt {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.to[key]
}

// finish waits for the task that an earlier attempt has left in a vCenter, if there is one: before its end CNS does not
// list what it makes. How it ended is for the caller to see there. The error is that the end cannot be learnt now.
func (s *Store) finish(ctx context.Context, key string) error {
	a := s.sent.get(key)
	if a.task.Value == "" {
		return nil
	}
	c, err := s.conn(a.vcenter)
	if err != nil { // not configured any more
		s.sent.settle(key)
		return nil
	}
	if _, err := c.tasks.wait(ctx, a.task); unknown(err) && !errors.Is(err, errTaskGone) {
		return fmt.Errorf("vcenter %q: task %s of an earlier attempt: %w", a.vcenter, a.task.Value, err)
	}
	s.sent.note(key, attempt{vcenter: a.vcenter})
	return nil
}
