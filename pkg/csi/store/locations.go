package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// maxLocations bounds the cache.
const maxLocations = 100_000

// locations caches the vCenter in which a volume was last seen. It may be outdated: volumes move.
type locations struct {
	mu       sync.Mutex
	vcenters map[string]string // the vCenter's name
	// attachments are where this process last attached the volume to, in case the node's VM becomes unknown.
	attachments map[string]attachment
}

// attachment is a disk that this process has attached to a VM.
type attachment struct {
	node     volume.Node
	diskUUID string
	// until is when it must be verified before it is returned again.
	until time.Time
}

// attachmentMemory is how long an attachment is returned without a call. csi-attacher requests most attachments twice: it queues a
// VolumeAttachment again because it has added the finalizer, and often processes it before its cache has the result. That takes at most
// the delay of its watch. If it requests the attachment again later for any reason, the disk may have been removed by then.
const attachmentMemory = 10 * time.Second

func (h *locations) put(id string, c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.vcenters == nil || len(h.vcenters) >= maxLocations {
		h.vcenters = map[string]string{}
	}
	h.vcenters[id] = c.name()
}

func (h *locations) get(id string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.vcenters[id]
}

func (h *locations) forget(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.vcenters, id)
	delete(h.attachments, id)
}

func (h *locations) attached(id, diskUUID string, n volume.Node) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.attachments == nil || len(h.attachments) >= maxLocations {
		h.attachments = map[string]attachment{}
	}
	h.attachments[id] = attachment{n, diskUUID, time.Now().Add(attachmentMemory)}
}

// recent returns the disk's UUID if this process has just attached the volume to n's VM.
func (h *locations) recent(id string, n volume.Node) (diskUUID string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	is := h.attachments[id]
	return is.diskUUID, is.node.VM == n.VM && is.node.VCenter == n.VCenter && time.Now().Before(is.until)
}

// verify makes the next request to attach the volume a call.
func (h *locations) verify(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if is, ok := h.attachments[id]; ok {
		is.until = time.Time{}
		h.attachments[id] = is
	}
}

// verifyOthers is verify for all volumes in a vCenter that are not attached according to it.
func (h *locations) verifyOthers(vcenter string, attached map[string]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, is := range h.attachments {
		if is.node.VCenter == vcenter && !attached[id] {
			is.until = time.Time{}
			h.attachments[id] = is
		}
	}
}

func (h *locations) detached(id string, n volume.Node) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if is := h.attachments[id].node; is.VM == n.VM && is.VCenter == n.VCenter {
		delete(h.attachments, id)
	}
}

// vm returns the node to which the volume was last attached, if it has n's id.
func (h *locations) vm(id string, n volume.Node) (volume.Node, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	is, ok := h.attachments[id]
	return is.node, ok && strings.EqualFold(is.node.ID, n.ID)
}

// lastVCenter returns where a volume was last seen, or nil if that is unknown, or no longer configured.
func (s *Store) lastVCenter(id string) *conn {
	if name := s.locations.get(id); name != "" {
		if c, err := s.conn(name); err == nil {
			return c
		}
	}
	return nil
}

// checkRemoved returns volume.ErrUnavailable for a volume that was last seen in a vCenter that is no longer configured: it may
// exist there, even if no other vCenter has it.
func (s *Store) checkRemoved(id string) error {
	name := s.locations.get(id)
	if name == "" {
		return nil
	}
	if _, err := s.conn(name); err != nil {
		return fmt.Errorf("volume %s was last seen in a vcenter that is no longer configured: %w", id, err)
	}
	return nil
}

// atVCenterOf runs f at the vCenter that has a volume. It tries the one where the volume was last seen first, and with a single vCenter
// no search is needed. f returns volume.ErrNotFound if the volume is not there.
func (s *Store) atVCenterOf(ctx context.Context, id string, f func(*conn) error) error {
	removed := s.checkRemoved(id)
	err := s.searchAndRun(ctx, id, f)
	if removed != nil && errors.Is(err, volume.ErrNotFound) {
		return removed
	}
	return err
}

func (s *Store) searchAndRun(ctx context.Context, id string, f func(*conn) error) error {
	conns := s.conns()
	c := s.lastVCenter(id)
	if len(conns) == 1 {
		c = conns[0]
	}
	var first error
	if c != nil {
		if first = f(c); !errors.Is(first, volume.ErrNotFound) || len(conns) == 1 {
			return first
		}
		s.locations.forget(id)
	}
	found, err := s.locate(ctx, id)
	switch {
	case err != nil:
		return err
	case found == c:
		return first // not the volume but another object was not found
	}
	return f(found)
}

// locate searches all vCenters for a volume. If none that responds has it, the error wraps volume.ErrNotFound if all respond,
// and volume.ErrUnavailable otherwise.
func (s *Store) locate(ctx context.Context, id string) (*conn, error) {
	conns := s.conns()
	has, errs := each(conns, func(c *conn) (bool, error) {
		_, err := c.volume(ctx, id)
		return err == nil, err
	})
	if i := slices.Index(has, true); i >= 0 {
		s.locations.put(id, conns[i])
		return conns[i], nil
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	errs = slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, volume.ErrNotFound) })
	if len(errs) > 0 {
		return nil, fmt.Errorf("volume %s: not found in the reachable vCenters: %w", id, errors.Join(errs...))
	}
	return nil, fmt.Errorf("volume %s: %w in %s", id, volume.ErrNotFound, s.names())
}

func (s *Store) names() string {
	var names []string
	for _, c := range s.conns() {
		names = append(names, fmt.Sprintf("%q", c.name()))
	}
	if len(names) == 1 {
		return "vcenter " + names[0]
	}
	return "any of the vcenters " + strings.Join(names, ", ")
}

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
