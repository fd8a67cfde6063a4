// Package watchcache holds the newest row of everything that a sandbox reports (VMs, Nodes, components, volumes, leases,
// calls, …) and sends each change to its readers. What is in the cache when a reader begins, and the changes after that,
// are complete: a reader misses none and gets none twice.
//
// Floor 3.
package watchcache

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// Cache is the newest rows of a sandbox and the readers of their changes. The zero value is ready to use, from any
// goroutine.
type Cache struct {
	refreshing sync.Mutex

	mu      sync.Mutex
	table   map[string]*line
	next    uint64
	readers map[*Reader]bool
	nodes   nodes
	pods    podCounts
	hosts   map[string][]string // keys by vCenter
	leases  []string            // keys, oldest first
}

// line is a row as it travels.
type line struct {
	order  uint64 // of the rows, as they were added
	update api.Update
	text   []byte
}

const (
	// MaxBehind is how many rows a reader may be behind.
	MaxBehind = 1 << 16
	// MaxBytesBehind is how many bytes these rows have at most.
	MaxBytesBehind = 32 << 20
)

// Reader gets every change from [Cache.Read] until it is closed.
type Reader struct {
	// Wake has an element when there may be changes to take.
	Wake <-chan struct{}

	cache   *Cache
	wake    chan struct{}
	changes Changes // not taken yet
	bytes   int     // of their lines
	slow    bool    // too many
}

// Changes are rows that have changed, each a line of JSON, and when each did.
type Changes struct {
	Lines [][]byte
	Times []time.Time
}

// Read returns all rows there are, and a reader that gets every change after them.
func (c *Cache) Read() ([][]byte, *Reader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wake := make(chan struct{}, 1)
	r := &Reader{Wake: wake, wake: wake, cache: c}
	if c.readers == nil {
		c.readers = map[*Reader]bool{}
	}
	c.readers[r] = true
	return c.texts(), r
}

// texts are all rows there are, in the order in which they were added. The caller holds the lock.
func (c *Cache) texts() [][]byte {
	all := make([]*line, 0, len(c.table))
	for _, l := range c.table {
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b *line) int { return cmp.Compare(a.order, b.order) })
	texts := make([][]byte, len(all))
	for i, l := range all {
		texts[i] = l.text
	}
	return texts
}

// Take returns the changes since it was called last; false when the reader was too slow and has lost some.
func (r *Reader) Take() (Changes, bool) {
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	return r.take()
}

// TakeAll is [Reader.Take], and returns all rows as they are by then: the changes lead up to them.
func (r *Reader) TakeAll() (c Changes, all [][]byte, ok bool) {
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	c, ok = r.take()
	return c, r.cache.texts(), ok
}

func (r *Reader) take() (Changes, bool) {
	c := r.changes
	r.changes, r.bytes = Changes{}, 0
	return c, !r.slow
}

// Close ends the reader.
func (r *Reader) Close() {
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	delete(r.cache.readers, r)
}

// Refresh calls f, which reads how something is and sets its row. Only one f runs at a time: a row that was read earlier
// never replaces one that was read later.
func (c *Cache) Refresh(f func()) {
	c.refreshing.Lock()
	defer c.refreshing.Unlock()
	f()
}

// set puts a row in the table and sends it, unless it is there already. The caller holds the lock.
func (c *Cache) set(key string, u api.Update) {
	text, err := json.Marshal(u)
	if err != nil {
		return // of types that can all be written
	}
	text = append(text, '\n')
	l := c.table[key]
	if l != nil && bytes.Equal(l.text, text) {
		return
	}
	if l == nil {
		c.next++
		l = &line{order: c.next}
		if c.table == nil {
			c.table = map[string]*line{}
		}
		c.table[key] = l
	}
	l.update, l.text = u, text
	c.send(text)
}

// drop takes a row out of the table and sends that it is deleted. The caller holds the lock.
func (c *Cache) drop(key string) {
	l := c.table[key]
	if l == nil {
		return
	}
	delete(c.table, key)
	l.update.Deleted = true
	if text, err := json.Marshal(l.update); err == nil {
		c.send(append(text, '\n'))
	}
}

func (c *Cache) send(text []byte) {
	for r := range c.readers {
		if len(r.changes.Lines) >= MaxBehind || r.bytes >= MaxBytesBehind {
			r.slow, r.changes, r.bytes = true, Changes{}, 0
		}
		if !r.slow {
			r.changes.Lines, r.bytes = append(r.changes.Lines, text), r.bytes+len(text)
			r.changes.Times = append(r.changes.Times, time.Now())
		}
		notify.Wake(r.wake)
	}
}

// Reset drops the rows of VMs, hosts, Nodes, volumes and attachments: all that is read again after a restore.
func (c *Cache) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.table {
		switch kind, _, _ := strings.Cut(key, "/"); kind {
		case "vm", "host", "node", "volume", "attachment", "virtualmachine", "virtualmachineservice":
			c.drop(key)
		}
	}
	c.nodes, c.pods, c.hosts = nodes{}, podCounts{}, nil
}

// put sets a row, or drops it when it is gone.
func (c *Cache) put(key string, u api.Update, gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if gone {
		c.drop(key)
	} else {
		c.set(key, u)
	}
}

// SetComponent sets the row of a process.
func (c *Cache) SetComponent(row api.Component) {
	c.put("component/"+row.Name, api.Update{Component: &row}, false)
}

// DeleteComponent drops the row of a process that will not start again.
func (c *Cache) DeleteComponent(name string) { c.put("component/"+name, api.Update{}, true) }

// SetVCenter sets the row of a vCenter. That it was called once more is no change.
func (c *Cache) SetVCenter(v api.VCenter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := "vcenter/" + v.Name
	if l := c.table[key]; l != nil {
		same := v
		if same.Calls = l.update.VCenter.Calls; same == *l.update.VCenter {
			return
		}
	}
	c.set(key, api.Update{VCenter: &v})
}

// SetHosts sets the rows of all hosts of a vCenter.
func (c *Cache) SetHosts(vcenter string, hosts []api.Host) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var keys []string
	for _, h := range hosts {
		key := "host/" + vcenter + "/" + h.Datacenter + "/" + h.Name
		keys = append(keys, key)
		c.set(key, api.Update{Host: &h})
	}
	for _, key := range c.hosts[vcenter] {
		if !slices.Contains(keys, key) {
			c.drop(key)
		}
	}
	if c.hosts == nil {
		c.hosts = map[string][]string{}
	}
	c.hosts[vcenter] = keys
}

// SetVolume sets the row of a PersistentVolume, or drops it when it is gone.
func (c *Cache) SetVolume(v api.Volume, gone bool) {
	c.put("volume/"+v.Name, api.Update{Volume: &v}, gone)
}

// SetAttachment sets the row of a VolumeAttachment, or drops it when it is gone.
func (c *Cache) SetAttachment(a api.Attachment, gone bool) {
	c.put("attachment/"+a.Name, api.Update{Attachment: &a}, gone)
}

// SetService sets the row of a Service of type LoadBalancer, or drops it when it is gone.
func (c *Cache) SetService(s api.Service, gone bool) {
	c.put("service/"+s.Name, api.Update{Service: &s}, gone)
}

// SetVirtualMachines sets the rows of all VirtualMachines of the Supervisor.
func (c *Cache) SetVirtualMachines(rows []api.VirtualMachine) {
	all := map[string]api.Update{}
	for _, m := range rows {
		m.Object = nil
		all[m.Namespace+"/"+m.Name] = api.Update{VirtualMachine: &m}
	}
	c.replace("virtualmachine/", all)
}

// SetVirtualMachineServices sets the rows of all VirtualMachineServices of the Supervisor.
func (c *Cache) SetVirtualMachineServices(rows []api.VirtualMachineService) {
	all := map[string]api.Update{}
	for _, v := range rows {
		v.Object = nil
		all[v.Namespace+"/"+v.Name] = api.Update{VirtualMachineService: &v}
	}
	c.replace("virtualmachineservice/", all)
}

// replace sets all rows of a kind, by name, and drops its others.
func (c *Cache) replace(kind string, rows map[string]api.Update) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.table {
		if name, ok := strings.CutPrefix(key, kind); ok {
			if _, stays := rows[name]; !stays {
				c.drop(key)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		c.set(kind+name, rows[name])
	}
}

// SetCalls sets rows of counts of calls to vCenters.
func (c *Cache) SetCalls(rows []api.Calls) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, row := range rows {
		c.set("calls/"+row.VCenter+"\x00"+row.Client+"\x00"+row.Method, api.Update{Calls: &row})
	}
}

// maxHealed is how many leases that are healed stay in the cache: as many as their engine remembers.
const maxHealed = 1000

// SetLease sets the row of a fault. Of leases that are healed only the newest stay in the cache.
func (c *Cache) SetLease(l api.Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := "lease/" + l.ID
	if c.table[key] == nil {
		c.leases = append(c.leases, key)
	}
	c.set(key, api.Update{Lease: &l})
	healed := func(key string) bool { return c.table[key].update.Lease.State == string(fault.Healed) }
	over := -maxHealed
	for _, key := range c.leases {
		if healed(key) {
			over++
		}
	}
	c.leases = slices.DeleteFunc(c.leases, func(key string) bool {
		if over <= 0 || !healed(key) {
			return false
		}
		over--
		c.drop(key)
		return true
	})
}

// runStates are what an [api.Run] can be in, stepStates what a step of it can.
func runStates() []string  { return []string{"running", "passed", "failed", "error", "skipped"} }
func stepStates() []string { return append(runStates(), "pending") }

// PublishRun checks and sets the row of the scenario that runs, or ran last: there is one.
func (c *Cache) PublishRun(_ context.Context, r api.Run) (struct{}, error) {
	invalid := func(format string, args ...any) (struct{}, error) {
		return struct{}{}, &api.Error{Code: "invalid", Message: fmt.Sprintf(format, args...)}
	}
	if r.Name == "" {
		return invalid("run: it has no name")
	}
	if !slices.Contains(runStates(), r.State) {
		return invalid("run %s: state %q is none of %s", r.Name, r.State, strings.Join(runStates(), ", "))
	}
	for i, step := range r.Steps {
		if !slices.Contains(stepStates(), step.State) {
			return invalid("run %s: step %d: state %q is none of %s", r.Name, i+1, step.State, strings.Join(stepStates(), ", "))
		}
	}
	c.put("run", api.Update{Run: &r}, false)
	return struct{}{}, nil
}
