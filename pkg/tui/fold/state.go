package fold

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// About identifies the sandbox of a state: from a recording's header, or the status of a sandbox.
type About = api.Recording

// State is the UI's model of a sandbox. Make it with [New]. It is for one goroutine.
type State struct {
	about    About
	keep     int
	world    *world.World
	now      time.Time
	total    uint64
	versions map[world.Kind]uint64

	changes  *changes
	calls    *calls
	findings *findings
	running  map[string]time.Time // when leases with a duration end
	run      *api.Run
	cut      error
	again    bool // the rows are being sent again
}

// Kinds of changes other than those of rows.
const (
	Calls world.Kind = "calls"
	Run   world.Kind = "run"
	// Findings is the kind of [State.Findings]. A finding also counts as a change of its subject's kind.
	Findings world.Kind = "findings"
)

// KeepEvents is the default number of events that a state keeps.
const KeepEvents = 65536

// New returns an empty state. keep is the number of events to keep; <= 0 is [KeepEvents].
func New(about About, keep int) *State {
	if keep <= 0 {
		keep = KeepEvents
	}
	speed := pace.Speed(about.Speed)
	if speed.Validate() != nil {
		speed = 1 // the longest periods, so that nothing becomes a finding too early
	}
	w := world.New()
	w.Keep(keep)
	return &State{
		about: about, keep: keep, world: w, versions: map[world.Kind]uint64{}, running: map[string]time.Time{},
		changes: newChanges(), calls: newCalls(), findings: newFindings(w, speed, about.Ground.Supervisor),
	}
}

// About returns the sandbox of the state.
func (s *State) About() About { return s.about }

// World returns the rows and events. Do not change it.
func (s *State) World() *world.World { return s.world }

// Now returns the time of the state: that of the newest update or [State.Tick].
func (s *State) Now() time.Time { return s.now }

// Run returns the current or last scenario; nil for none.
func (s *State) Run() *api.Run { return s.run }

// Version grows with every change of one of the kinds; without kinds, with every change. Passing time counts if it changes
// something: a mark fades, a rate falls, a countdown decreases.
func (s *State) Version(kinds ...world.Kind) (v uint64) {
	if len(kinds) == 0 {
		return s.total
	}
	for _, k := range kinds {
		v += s.versions[k]
	}
	return v
}

// Apply applies updates of a time.
func (s *State) Apply(at time.Time, updates ...api.Update) {
	s.Tick(at)
	if s.cut != nil && len(updates) > 0 {
		s.cut = nil
		s.total++
	}
	for _, u := range updates {
		s.apply(u)
	}
	s.examine()
}

func (s *State) apply(u api.Update) {
	switch {
	case u.Calls != nil:
		s.calls.apply(s.now, *u.Calls, u.Deleted, s.world.Synced() && !s.again)
		s.touch(Calls)
	case u.Run != nil:
		s.run = u.Run
		s.touch(Run)
	case u.Synced:
		s.synced(u)
	default:
		s.row(u)
	}
}

// row applies a row or an event.
func (s *State) row(u api.Update) {
	row, isRow := world.RowOf(u)
	var was world.Row
	var there bool
	if isRow {
		was, there = s.world.Row(row.Kind, row.Key)
	}
	for _, kind := range s.world.Apply(u) {
		s.touch(kind)
	}
	if isRow && (there || !u.Deleted) {
		s.changed(was, row, there, !u.Deleted)
	}
}

// changed follows the change of a row; the old or the new one may be missing.
func (s *State) changed(was, is world.Row, before, after bool) {
	if s.world.Synced() {
		s.changes.note(s.now, was, is, before, after)
	}
	if before {
		s.findings.changed(was)
	}
	if after {
		s.findings.changed(is)
	}
	if is.Kind == world.Lease {
		s.leased(is, after)
	}
}

// synced removes the rows that were not sent again since the cut: they are gone.
func (s *State) synced(u api.Update) {
	lists := map[world.Kind][]world.Row{}
	if s.again {
		for _, kind := range world.Kinds() {
			lists[kind] = s.world.Rows(kind)
		}
	}
	for _, kind := range s.world.Apply(u) {
		s.touch(kind)
	}
	for kind, rows := range lists {
		for _, row := range rows {
			if _, there := s.world.Row(kind, row.Key); !there {
				s.changed(row, row, true, false)
			}
		}
	}
	s.again = false
	s.total++
}

func (s *State) touch(k world.Kind) {
	s.total++
	s.versions[k]++
}

// Cut records that the stream was cut, and why. The next update (or nil) reopens it: from then on all rows arrive again, up to an
// update that is Synced. Until then the state keeps the last rows.
func (s *State) Cut(err error) {
	s.cut = err
	s.total++
	if err != nil {
		s.again = true
		s.world.Resync()
	}
}

// IsCut returns why the state is not current, or nil.
func (s *State) IsCut() error { return s.cut }

// Fresh returns an empty state of the same sandbox, for a recording that starts again. Its versions continue from those of s, so
// that no panel takes it for the old one.
func (s *State) Fresh() *State { return s.Of(s.about) }

// Of is [State.Fresh] for another sandbox, which has replaced that of s.
func (s *State) Of(about About) *State {
	fresh := New(about, s.keep)
	fresh.total = s.total + 1
	for kind, v := range s.versions {
		fresh.versions[kind] = v + 1
	}
	return fresh
}

// Tick sets the time. An earlier time is ignored.
func (s *State) Tick(now time.Time) {
	if !now.After(s.now) {
		return
	}
	before := s.now
	s.now = now
	for _, kind := range s.changes.expire(now) {
		s.touch(kind)
	}
	if s.calls.expire(now) {
		s.touch(Calls)
	}
	s.findings.settle(now)
	s.examine()
	s.count(before)
}

// count updates what is counted in seconds.
func (s *State) count(before time.Time) {
	ticked := false
	for id, until := range s.running {
		if seconds(until.Sub(before)) != seconds(until.Sub(s.now)) {
			ticked = true
		}
		if !until.After(s.now) {
			delete(s.running, id)
		}
	}
	if ticked {
		s.touch(world.Lease)
	}
	if r := s.run; r != nil && r.State == "running" && seconds(before.Sub(r.Began)) != seconds(s.now.Sub(r.Began)) {
		s.touch(Run)
	}
}

// seconds rounds d up to whole seconds: the rest of a lease is 1 s until it ends.
func seconds(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }

// NextTick returns the time until something changes without an update: a mark fades, a rate falls, a countdown decreases. Zero
// means never. [State.Tick] then makes the change.
func (s *State) NextTick() time.Duration {
	next := time.Duration(0)
	sooner := func(d time.Duration) {
		if d = max(d, time.Millisecond); next == 0 || d < next {
			next = d
		}
	}
	for _, at := range []time.Time{s.changes.next(), s.calls.next(), s.findings.next} {
		if !at.IsZero() {
			sooner(at.Sub(s.now))
		}
	}
	for _, until := range s.running {
		sooner(toSecond(until.Sub(s.now)))
	}
	if s.run != nil && s.run.State == "running" {
		sooner(toSecond(s.run.Began.Sub(s.now)))
	}
	return next
}

// toSecond returns the time until d, negative for the past, is a whole number of seconds.
func toSecond(left time.Duration) time.Duration {
	if d := left % time.Second; d > 0 {
		return d
	} else if d < 0 {
		return d + time.Second
	}
	return time.Second
}

// leased keeps the leases with a countdown.
func (s *State) leased(row world.Row, there bool) {
	delete(s.running, row.Key)
	if l, ok := row.Value.(api.Lease); ok && there && l.Until != nil && l.Ended == nil && l.Until.After(s.now) {
		s.running[row.Key] = *l.Until
	}
}

// Recent is how long a change is marked.
const Recent = 5 * time.Second

// Change is the recent change of a row.
type Change struct {
	// At is the time of the last change.
	At time.Time
	// Fields are the JSON names of the changed fields, sorted; nil for a new row.
	Fields []string
	// Gone means that the row was deleted.
	Gone bool
}

// Changed returns the recent change of a row; ok is false if there was none. Rows of the first sync are not new.
func (s *State) Changed(k world.Kind, key string) (Change, bool) {
	m := s.changes.by[k][key]
	if m == nil {
		return Change{}, false
	}
	c := Change{At: m.at, Gone: m.gone != nil}
	if m.newAt.IsZero() && !c.Gone {
		c.Fields = make([]string, len(m.fields))
		for i, f := range m.fields {
			c.Fields[i] = f.name
		}
		slices.Sort(c.Fields)
	}
	return c, true
}

// ChangedField reports whether one of the fields of a row, by JSON name, changed recently, or the row is new.
func (s *State) ChangedField(k world.Kind, key string, fields ...string) bool {
	m := s.changes.by[k][key]
	switch {
	case m == nil || m.gone != nil:
		return false
	case !m.newAt.IsZero():
		return true
	}
	return slices.ContainsFunc(m.fields, func(f changedField) bool { return slices.Contains(fields, f.name) })
}

// Gone returns the recently deleted rows of a kind, by name.
func (s *State) Gone(k world.Kind) []world.Row {
	var rows []world.Row
	for _, m := range s.changes.by[k] {
		if m.gone != nil {
			rows = append(rows, *m.gone)
		}
	}
	slices.SortFunc(rows, func(a, b world.Row) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key)) })
	return rows
}

// changes are the recent changes, by row.
type changes struct {
	by     map[world.Kind]map[string]*mark
	queue  []noted // oldest first; all last equally long
	differ differ
}

// mark is what happened to one row.
type mark struct {
	at     time.Time // last
	newAt  time.Time // zero for a row that was there before
	fields []changedField
	gone   *world.Row
}

type changedField struct {
	name string
	at   time.Time
}

type noted struct {
	at   time.Time
	kind world.Kind
	key  string
}

func newChanges() *changes {
	return &changes{by: map[world.Kind]map[string]*mark{}, differ: differ{}}
}

// note compares the old and the new row; either may be missing.
func (c *changes) note(at time.Time, was, is world.Row, before, after bool) {
	var fields []string
	if before && after {
		if fields = c.differ.fields(was.Value, is.Value); len(fields) == 0 {
			return
		}
	}
	marks := c.by[is.Kind]
	if marks == nil {
		marks = map[string]*mark{}
		c.by[is.Kind] = marks
	}
	m := marks[is.Key]
	if m == nil || before != after {
		m = &mark{}
		marks[is.Key] = m
	}
	m.at = at
	switch {
	case !before:
		m.newAt = at
	case !after:
		m.gone = &was
	default:
		for _, name := range fields {
			i := slices.IndexFunc(m.fields, func(f changedField) bool { return f.name == name })
			if i < 0 {
				i, m.fields = len(m.fields), append(m.fields, changedField{name: name})
			}
			m.fields[i].at = at
		}
	}
	c.queue = append(c.queue, noted{at, is.Kind, is.Key})
}

// expire drops changes that are not recent any more, and returns their kinds.
func (c *changes) expire(now time.Time) (kinds []world.Kind) {
	for len(c.queue) > 0 && now.Sub(c.queue[0].at) >= Recent {
		n := c.queue[0]
		c.queue = c.queue[1:]
		m := c.by[n.kind][n.key]
		if m == nil {
			continue
		}
		if !slices.Contains(kinds, n.kind) {
			kinds = append(kinds, n.kind)
		}
		if now.Sub(m.at) >= Recent {
			delete(c.by[n.kind], n.key)
			continue
		}
		if now.Sub(m.newAt) >= Recent {
			m.newAt = time.Time{}
		}
		m.fields = slices.DeleteFunc(m.fields, func(f changedField) bool { return now.Sub(f.at) >= Recent })
	}
	if len(c.queue) == 0 {
		c.queue = nil
	}
	return kinds
}

// next returns when the next mark fades; zero for never.
func (c *changes) next() time.Time {
	if len(c.queue) == 0 {
		return time.Time{}
	}
	return c.queue[0].at.Add(Recent)
}

// differ compares rows field by field. It caches the fields of each type.
type differ map[reflect.Type][]rowField

type rowField struct {
	name  string // in JSON
	index int
}

// fields returns the JSON names of the fields that differ between a and b, of one type. It ignores the number of calls of a
// vCenter, which changes all the time.
func (d differ) fields(a, b any) (names []string) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for _, f := range d.of(x.Type()) {
		if !same(x.Field(f.index), y.Field(f.index)) {
			names = append(names, f.name)
		}
	}
	return names
}

func (d differ) of(t reflect.Type) []rowField {
	if fields, known := d[t]; known {
		return fields
	}
	fields := []rowField{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" || name == "calls" {
			continue
		}
		fields = append(fields, rowField{name, i})
	}
	d[t] = fields
	return fields
}

// same compares two values of one type. Empty lists and maps equal nil ones, and times are compared as instants.
func same(x, y reflect.Value) bool {
	switch x.Kind() {
	case reflect.String:
		return x.String() == y.String()
	case reflect.Bool:
		return x.Bool() == y.Bool()
	case reflect.Int, reflect.Int64:
		return x.Int() == y.Int()
	case reflect.Uint64:
		return x.Uint() == y.Uint()
	case reflect.Slice, reflect.Map:
		if x.Len() != y.Len() {
			return false
		}
		return x.Len() == 0 || x.Pointer() == y.Pointer() || sameElements(x.Interface(), y.Interface())
	case reflect.Pointer:
		if x.IsNil() || y.IsNil() {
			return x.IsNil() == y.IsNil()
		}
		return same(x.Elem(), y.Elem())
	}
	if at, ok := reflect.TypeAssert[time.Time](x); ok {
		return at.Equal(y.Interface().(time.Time))
	}
	return reflect.DeepEqual(x.Interface(), y.Interface())
}

// sameElements compares lists and maps. Nearly all have strings.
func sameElements(x, y any) bool {
	switch x := x.(type) {
	case []string:
		return slices.Equal(x, y.([]string))
	case map[string]string:
		return maps.Equal(x, y.(map[string]string))
	}
	return reflect.DeepEqual(x, y)
}
