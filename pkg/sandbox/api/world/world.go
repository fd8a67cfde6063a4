package world

import (
	"cmp"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// World is what there is. Make one with [New]. It is for one goroutine at a time.
type World struct {
	rows   map[Kind]map[string]Row
	sorted map[Kind][]Row    // by name; nil when it has to be made again
	newer  map[Kind][]string // keys of rows that are not yet in sorted as they are
	events []event.Event
	keep   int // how many events are kept; <= 0 for all
	lost   uint64
	synced bool
	stale  map[Kind]map[string]bool // rows of before the stream began again
}

// New returns an empty world.
func New() *World {
	w := &World{rows: map[Kind]map[string]Row{}, sorted: map[Kind][]Row{}, newer: map[Kind][]string{}}
	for _, k := range Kinds() {
		w.rows[k] = map[string]Row{}
	}
	return w
}

// Apply takes an update of the stream in, and returns the kinds of what it changed.
func (w *World) Apply(u api.Update) []Kind {
	if u.Event != nil {
		return w.event(*u.Event, u.Lost)
	}
	w.lost += u.Lost
	if u.Synced {
		return w.sync()
	}
	row, ok := RowOf(u)
	if !ok {
		return nil
	}
	if w.stale != nil {
		delete(w.stale[row.Kind], row.Key)
	}
	was, there := w.rows[row.Kind][row.Key]
	if u.Deleted && !there {
		return nil
	}
	w.disorder(was, row, there && !u.Deleted)
	if u.Deleted {
		delete(w.rows[row.Kind], row.Key)
	} else {
		w.rows[row.Kind][row.Key] = row
	}
	return []Kind{row.Kind}
}

// disorder notes a changed row. One that keeps its place is put there when the rows are read, unless
// there are so many that sorting all is less work.
func (w *World) disorder(was, row Row, stays bool) {
	k := row.Kind
	if stays && was.Name == row.Name && len(w.newer[k]) < len(w.sorted[k])/4 {
		w.newer[k] = append(w.newer[k], row.Key)
		return
	}
	w.sorted[k], w.newer[k] = nil, nil
}

// Resync must be called when the stream begins again: rows that it does not repeat until it is synced are gone.
func (w *World) Resync() {
	w.stale = map[Kind]map[string]bool{}
	for kind, rows := range w.rows {
		w.stale[kind] = map[string]bool{}
		for key := range rows {
			w.stale[kind][key] = true
		}
	}
}

func (w *World) sync() []Kind {
	w.synced = true
	var changed []Kind
	for _, kind := range Kinds() {
		for key := range w.stale[kind] {
			delete(w.rows[kind], key)
			w.sorted[kind], w.newer[kind] = nil, nil
		}
		if len(w.stale[kind]) > 0 {
			changed = append(changed, kind)
		}
	}
	w.stale = nil
	return changed
}

// RowOf is the row that an update is about.
func RowOf(u api.Update) (Row, bool) {
	switch {
	case u.Node != nil:
		return Row{Node, u.Node.Name, u.Node.Name, *u.Node}, true
	case u.VM != nil:
		return Row{VM, u.VM.VCenter + "/" + cmp.Or(u.VM.MoRef, u.VM.Path), u.VM.VCenter + "/" + u.VM.Name, *u.VM}, true
	case u.Host != nil:
		name := u.Host.VCenter + "/" + u.Host.Name
		return Row{Host, name, name, *u.Host}, true
	case u.VCenter != nil:
		return Row{VCenter, u.VCenter.Name, u.VCenter.Name, *u.VCenter}, true
	case u.Component != nil:
		return Row{Component, u.Component.Name, u.Component.Name, *u.Component}, true
	case u.Lease != nil:
		return Row{Lease, u.Lease.ID, u.Lease.ID, *u.Lease}, true
	case u.Volume != nil:
		return Row{Volume, u.Volume.Name, cmp.Or(u.Volume.Claim, u.Volume.Name), *u.Volume}, true
	case u.Attachment != nil:
		return Row{Attachment, u.Attachment.Name, u.Attachment.Volume + " at " + u.Attachment.Node, *u.Attachment}, true
	case u.Service != nil:
		return Row{Service, u.Service.Name, u.Service.Name, *u.Service}, true
	case u.VirtualMachine != nil:
		name := u.VirtualMachine.Namespace + "/" + u.VirtualMachine.Name
		return Row{VirtualMachine, name, name, *u.VirtualMachine}, true
	case u.VirtualMachineService != nil:
		name := u.VirtualMachineService.Namespace + "/" + u.VirtualMachineService.Name
		return Row{VirtualMachineService, name, name, *u.VirtualMachineService}, true
	}
	return Row{}, false
}

// event appends one. After the stream was taken up again some may come once more.
func (w *World) event(e event.Event, lost uint64) []Kind {
	if len(w.events) > 0 && e.Seq <= w.events[len(w.events)-1].Seq {
		return nil
	}
	w.lost += lost
	w.events = append(w.events, e)
	w.forget()
	return []Kind{Event}
}

// Synced reports whether the stream has sent all rows of its beginning.
func (w *World) Synced() bool { return w.synced }

// Lost counts the events that were missed.
func (w *World) Lost() uint64 { return w.lost }

// Rows are those of a kind, by name. The slice is not to be changed.
func (w *World) Rows(k Kind) []Row {
	rows := w.sorted[k]
	switch {
	case rows == nil:
		rows = make([]Row, 0, len(w.rows[k]))
		for _, row := range w.rows[k] {
			rows = append(rows, row)
		}
		slices.SortFunc(rows, byName)
	case len(w.newer[k]) == 0:
		return rows
	default:
		rows = slices.Clone(rows) // a caller may have it
		for _, key := range w.newer[k] {
			row := w.rows[k][key]
			if i, ok := slices.BinarySearchFunc(rows, row, byName); ok {
				rows[i] = row
			}
		}
	}
	w.sorted[k], w.newer[k] = rows, w.newer[k][:0]
	return rows
}

func byName(a, b Row) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key)) }

// Row finds one by its key.
func (w *World) Row(k Kind, key string) (Row, bool) {
	row, ok := w.rows[k][key]
	return row, ok
}

// Values are the rows of a kind as package api has them: world.Values[api.Node](w, world.Node).
func Values[T any](w *World, k Kind) []T {
	rows := w.Rows(k)
	all := make([]T, len(rows))
	for i, row := range rows {
		all[i] = row.Value.(T)
	}
	return all
}
