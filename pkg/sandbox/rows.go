package sandbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// rows is the table of all that a sandbox tells of itself, as it was told last, and of those who are told of each change.
// What is in the table when a reader comes, and the changes after it, are together everything: none is missed, none told
// twice. The zero value is ready to use, from any goroutine.
type rows struct {
	// reading is held from reading what is told until it is told, where several may do so at once: what was so before is
	// never told after what is so now.
	reading sync.Mutex

	mu      sync.Mutex
	table   map[string]*line
	next    uint64
	readers map[*rowReader]bool
	nodes   nodeRows
	pods    nodePods
	hosts   map[string][]string // keys by vCenter
	leases  []string            // keys, oldest first
}

// line is a row as it travels.
type line struct {
	order  uint64 // of the rows, as they came to be
	update api.Update
	text   []byte
}

const (
	// maxBehind is how many rows a reader may be behind, maxBytesBehind how many bytes these have.
	maxBehind      = 1 << 16
	maxBytesBehind = 32 << 20
)

// rowReader is somebody who is told.
type rowReader struct {
	wake  chan struct{} // has an element when there may be something
	lines [][]byte      // not sent yet
	bytes int           // of the lines
	slow  bool          // too many
	// times are when the lines were told; kept for those only that are timed.
	timed bool
	times []time.Time
}

// read returns all rows there are, and a reader that gets every change from then on until it is closed.
func (r *rows) read() ([][]byte, *rowReader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.texts(), r.reader()
}

// reader adds a reader. The caller holds the lock.
func (r *rows) reader() *rowReader {
	reader := &rowReader{wake: make(chan struct{}, 1)}
	if r.readers == nil {
		r.readers = map[*rowReader]bool{}
	}
	r.readers[reader] = true
	return reader
}

// texts are all rows there are, in the order in which they came to be. The caller holds the lock.
func (r *rows) texts() [][]byte {
	all := make([]*line, 0, len(r.table))
	for _, l := range r.table {
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b *line) int { return cmp.Compare(a.order, b.order) })
	texts := make([][]byte, len(all))
	for i, l := range all {
		texts[i] = l.text
	}
	return texts
}

// take returns what there is for a reader; false when it was too slow and has lost some.
func (r *rows) take(reader *rowReader) ([][]byte, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := reader.lines
	reader.lines, reader.bytes = nil, 0
	return lines, !reader.slow
}

func (r *rows) close(reader *rowReader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.readers, reader)
}

// set puts a row in the table and tells of it, unless it is there already. The caller holds the lock.
func (r *rows) set(key string, u api.Update) {
	text, err := json.Marshal(u)
	if err != nil {
		return // of types that can all be written
	}
	text = append(text, '\n')
	l := r.table[key]
	if l != nil && bytes.Equal(l.text, text) {
		return
	}
	if l == nil {
		r.next++
		l = &line{order: r.next}
		if r.table == nil {
			r.table = map[string]*line{}
		}
		r.table[key] = l
	}
	l.update, l.text = u, text
	r.tell(text)
}

// drop takes a row out of the table and tells of it. The caller holds the lock.
func (r *rows) drop(key string) {
	l := r.table[key]
	if l == nil {
		return
	}
	delete(r.table, key)
	l.update.Deleted = true
	if text, err := json.Marshal(l.update); err == nil {
		r.tell(append(text, '\n'))
	}
}

func (r *rows) tell(text []byte) {
	for reader := range r.readers {
		if len(reader.lines) >= maxBehind || reader.bytes >= maxBytesBehind {
			reader.slow, reader.lines, reader.times, reader.bytes = true, nil, nil, 0
		}
		if !reader.slow {
			reader.lines, reader.bytes = append(reader.lines, text), reader.bytes+len(text)
			if reader.timed {
				reader.times = append(reader.times, time.Now())
			}
		}
		notify.Wake(reader.wake)
	}
}

// component tells of a process.
func (r *rows) component(c api.Component) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set("component/"+c.Name, api.Update{Component: &c})
}

// componentGone tells that there is no such process any more, and will be none.
func (r *rows) componentGone(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop("component/" + name)
}

// vcenter tells of a vCenter. That it was called once more is no change.
func (r *rows) vcenter(v api.VCenter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := "vcenter/" + v.Name
	if l := r.table[key]; l != nil {
		same := v
		if same.Calls = l.update.VCenter.Calls; same == *l.update.VCenter {
			return
		}
	}
	r.set(key, api.Update{VCenter: &v})
}

// hostsOf tells of all hosts of a vCenter.
func (r *rows) hostsOf(vcenter string, hosts []api.Host) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var keys []string
	for _, h := range hosts {
		key := "host/" + vcenter + "/" + h.Datacenter + "/" + h.Name
		keys = append(keys, key)
		r.set(key, api.Update{Host: &h})
	}
	for _, key := range r.hosts[vcenter] {
		if !slices.Contains(keys, key) {
			r.drop(key)
		}
	}
	if r.hosts == nil {
		r.hosts = map[string][]string{}
	}
	r.hosts[vcenter] = keys
}

// volume tells of a PersistentVolume; gone, that it is none any more.
func (r *rows) volume(v api.Volume, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if gone {
		r.drop("volume/" + v.Name)
		return
	}
	r.set("volume/"+v.Name, api.Update{Volume: &v})
}

// attachment tells of a VolumeAttachment; gone, that it is none any more.
func (r *rows) attachment(a api.Attachment, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if gone {
		r.drop("attachment/" + a.Name)
		return
	}
	r.set("attachment/"+a.Name, api.Update{Attachment: &a})
}
