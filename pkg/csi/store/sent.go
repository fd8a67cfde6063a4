package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
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
	// lost says that the answer to the call was lost, so that there may be a task. Once asked, among are the tasks that it may be.
	lost, asked bool
	among       []ref
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
		a.lost = a.task.Value == ""
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
// list what it makes. How it ended is for the caller to see there. The error is that the end cannot be learnt now, or that a
// task runs which may be that of a call whose answer was lost.
func (s *Store) finish(ctx context.Context, key string) error {
	a := s.sent.get(key)
	if a.task.Value == "" && !a.lost {
		return nil
	}
	c, err := s.conn(a.vcenter)
	if err != nil { // not configured any more
		s.sent.settle(key)
		return nil
	}
	if a.lost {
		open, err := c.others(ctx)
		if unknown(err) { // an account that may not read tasks learns nothing
			return fmt.Errorf("vcenter %q: look for the task of an earlier attempt: %w", a.vcenter, err)
		}
		if a.asked {
			open = intersection(open, a.among)
		}
		if a.asked, a.among = true, open; len(open) > 0 {
			s.sent.note(key, a)
			return fmt.Errorf("vcenter %q: %w: task %s may be that of an earlier attempt, whose answer was lost", a.vcenter, volume.ErrPending, open[0].Value)
		}
	} else if _, err := c.tasks.wait(ctx, a.task); unknown(err) && !errors.Is(err, errTaskGone) {
		return fmt.Errorf("vcenter %q: task %s of an earlier attempt: %w", a.vcenter, a.task.Value, err)
	}
	s.sent.note(key, attempt{vcenter: a.vcenter})
	return nil
}

// others returns the tasks of CNS that have not ended and that no operation here waits for.
func (c *conn) others(ctx context.Context) (open []ref, err error) {
	err = c.call(ctx, func(ctx context.Context, s *services) error {
		infos, err := recentTasks(ctx, s.vim)
		for _, info := range infos {
			ended := info.State == types.TaskInfoStateSuccess || info.State == types.TaskInfoStateError
			if !ended && strings.Contains(strings.ToLower(info.DescriptionId), "cns") && !c.tasks.waits(info.Task) {
				open = append(open, info.Task)
			}
		}
		return err
	})
	return open, err
}
