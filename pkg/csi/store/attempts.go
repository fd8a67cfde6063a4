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

// attempts are creations with an unknown outcome, by key: a second attempt could create a second object.
type attempts struct {
	mu    sync.Mutex
	byKey map[string]attempt
}

// attempt is one request for a creation.
type attempt struct {
	vcenter string
	// task is its task in the vCenter; zero if unknown.
	task ref
	// lost reports that the response was lost, so that there may be a task. After asked is set, among are the candidates.
	lost, asked bool
	among       []ref
}

func (n *attempts) note(key string, a attempt) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.byKey == nil || len(n.byKey) >= maxLocations { // as after a restart
		n.byKey = map[string]attempt{}
	}
	n.byKey[key] = a
}

func (n *attempts) remove(key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.byKey, key)
}

// end removes an attempt that ended with err, or keeps it if its outcome is unknown.
func (n *attempts) end(key string, a attempt, err error) {
	if outcomeUnknown(err) {
		a.lost = a.task.Value == ""
		n.note(key, a)
		return
	}
	n.remove(key)
}

func (n *attempts) get(key string) attempt {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byKey[key]
}

// finish waits for the task that an earlier attempt left in a vCenter, because CNS does not list an object before its creation
// has ended. The caller reads the outcome. finish returns an error if the end cannot be determined now, or if a running task
// may be that of a call whose response was lost.
func (s *Store) finish(ctx context.Context, key string) error {
	a := s.attempts.get(key)
	if a.task.Value == "" && !a.lost {
		return nil
	}
	c, err := s.conn(a.vcenter)
	if err != nil { // no longer configured
		s.attempts.remove(key)
		return nil
	}
	if a.lost {
		open, err := c.foreignTasks(ctx)
		if outcomeUnknown(err) { // without permission to read tasks, open is empty
			return fmt.Errorf("vcenter %q: search for the task of an earlier attempt: %w", a.vcenter, err)
		}
		if a.asked {
			open = intersection(open, a.among)
		}
		if a.asked, a.among = true, open; len(open) > 0 {
			s.attempts.note(key, a)
			return fmt.Errorf("vcenter %q: %w: task %s may be that of an earlier attempt, whose response was lost", a.vcenter, volume.ErrPending, open[0].Value)
		}
	} else if _, err := c.tasks.wait(ctx, a.task); outcomeUnknown(err) && !errors.Is(err, errTaskGone) {
		return fmt.Errorf("vcenter %q: task %s of an earlier attempt: %w", a.vcenter, a.task.Value, err)
	}
	s.attempts.note(key, attempt{vcenter: a.vcenter})
	return nil
}

// foreignTasks returns the unfinished CNS tasks that no operation of this process waits for.
func (c *conn) foreignTasks(ctx context.Context) (open []ref, err error) {
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
