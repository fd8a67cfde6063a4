package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// maxBody exceeds the references of all objects of a vCenter by far.
const maxBody = 16 << 20

// call is a tagging call, in either form of the API.
type call struct {
	user string
	api  bool
	id   string // from the path; empty without one
	body []byte // JSON; empty or null without a body
}

// route identifies an operation.
type route struct {
	service, method, action string
	id                      bool // whether the path has an ID
}

// operation handles a call and returns a value to encode, or nil.
type operation struct {
	run     func(*call) (any, error)
	created bool // /api has a separate status for that
}

// tagging answers a call on categories, tags or associations.
func (h *Handler) tagging(w http.ResponseWriter, r *http.Request, path string, api bool) {
	_, user, ok := h.authenticate(r)
	if !ok {
		loginRequired().write(w, api)
		return
	}
	service, id, hasID := strings.Cut(path, "/")
	if hasID && !api {
		after, ok := strings.CutPrefix(id, "id:")
		if !ok {
			noOperation().write(w, api)
			return
		}
		id = after
	}
	op, ok := h.operations[route{service, r.Method, r.URL.Query().Get(actionKey(api)), hasID}]
	if !ok || hasID && id == "" {
		noOperation().write(w, api)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		invalid("Unreadable body: %v", err).write(w, api)
		return
	}
	value, err := op.run(&call{user: user, api: api, id: id, body: body})
	if err != nil {
		faultOf(err).write(w, api)
		return
	}
	status := http.StatusOK
	if op.created {
		status = http.StatusCreated
	}
	write(w, api, status, value)
}

// faultOf converts an error to vCenter's form.
func faultOf(err error) *fault {
	if f, ok := errors.AsType[*fault](err); ok {
		return f
	}
	if e, ok := errors.AsType[*ineligible](err); ok {
		return newFault(invalidArgument, e.id, e.short)
	}
	return newFault(internalError, "", err.Error())
}

// fields parses the body.
func fields(body []byte) (map[string]json.RawMessage, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, nil
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, invalid("Invalid JSON: %v", err)
	}
	for k, v := range m {
		if string(v) == "null" { // the same as absent
			delete(m, k)
		}
	}
	return m, nil
}

// spec decodes a structure, which is a parameter with that name in /rest, and the body in /api. All required fields must be
// present, but may be empty.
func (c *call) spec(name string, into any, required ...string) error {
	body := c.body
	if !c.api {
		m, err := fields(body)
		if err != nil {
			return err
		}
		if m[name] == nil {
			return lacks("operation-input", name)
		}
		body = m[name]
	}
	m, err := fields(body)
	if err != nil {
		return err
	}
	for _, f := range required {
		if m[f] == nil {
			return lacks(name, f)
		}
	}
	if m == nil {
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return invalid("Invalid %s: %v", name, err)
	}
	return nil
}

// param decodes a parameter of the body.
func (c *call) param(name string, into any) error {
	m, err := fields(c.body)
	if err != nil {
		return err
	}
	if m[name] == nil {
		return lacks("operation-input", name)
	}
	if err := json.Unmarshal(m[name], into); err != nil {
		return invalid("Invalid %s: %v", name, err)
	}
	return nil
}

// ident returns the identifier in the path, or else the parameter of the body.
func (c *call) ident(name string) (string, error) {
	if c.id != "" {
		return c.id, nil
	}
	var id string
	err := c.param(name, &id)
	return id, err
}

func lacks(structure, field string) *fault {
	return newFault(invalidArgument, msgMissingField,
		fmt.Sprintf("Structure '%s' is missing a field: %s", structure, field), structure, field)
}

// objectID is the wire form of a reference.
type objectID struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

func (o objectID) ref() vc.Ref { return plain(vc.Ref{Type: o.Type, Value: o.ID}) }

func wire(ref vc.Ref) objectID { return objectID{ref.Type, ref.Value} }

// object decodes the parameter object_id.
func (c *call) object() (vc.Ref, error) {
	var o objectID
	if err := c.param("object_id", &o); err != nil {
		return vc.Ref{}, err
	}
	if o.Type == "" || o.ID == "" {
		return vc.Ref{}, invalid("Invalid object_id: type and id are required")
	}
	return o.ref(), nil
}

// objects decodes the parameter object_ids.
func (c *call) objects() ([]vc.Ref, error) {
	var all []objectID
	if err := c.param("object_ids", &all); err != nil {
		return nil, err
	}
	refs := make([]vc.Ref, len(all))
	for i, o := range all {
		refs[i] = o.ref()
	}
	return refs, nil
}

func (h *Handler) listAttachedTags(c *call) (any, error) {
	ref, err := c.object()
	if err != nil {
		return nil, err
	}
	if err := h.readable(c.user, ref); err != nil {
		return nil, err
	}
	return h.store.tagsOn(ref), nil
}

func (h *Handler) listAttachableTags(c *call) (any, error) {
	ref, err := c.object()
	if err != nil {
		return nil, err
	}
	if err := h.readable(c.user, ref); err != nil {
		return nil, err
	}
	return h.store.attachable(ref), nil
}

// visible returns the objects that the user may see, in wire form.
func (h *Handler) visible(user string, refs []vc.Ref) []objectID {
	out := make([]objectID, 0, len(refs))
	for _, ref := range refs {
		if h.mayRead(user, ref) {
			out = append(out, wire(ref))
		}
	}
	return out
}

func (h *Handler) listAttachedObjects(c *call) (any, error) {
	id, err := c.ident("tag_id")
	if err != nil {
		return nil, err
	}
	refs, err := h.store.objectsWith(id)
	if err != nil {
		return nil, err
	}
	return h.visible(c.user, refs), nil
}

// tagsOfObject is an object and its tags.
type tagsOfObject struct {
	Object objectID `json:"object_id"`
	Tags   []string `json:"tag_ids"`
}

// listAttachedTagsOnObjects omits objects that are missing or that the user may not see.
func (h *Handler) listAttachedTagsOnObjects(c *call) (any, error) {
	refs, err := c.objects()
	if err != nil {
		return nil, err
	}
	seen := refs[:0]
	for _, ref := range refs {
		if h.readable(c.user, ref) == nil {
			seen = append(seen, ref)
		}
	}
	out := make([]tagsOfObject, len(seen))
	for i, tags := range h.store.tagsOnAll(seen) {
		out[i] = tagsOfObject{wire(seen[i]), tags}
	}
	return out, nil
}

// objectsOfTag is a tag and its objects.
type objectsOfTag struct {
	Tag     string     `json:"tag_id"`
	Objects []objectID `json:"object_ids"`
}

// listAttachedObjectsOnTags omits missing tags.
func (h *Handler) listAttachedObjectsOnTags(c *call) (any, error) {
	var tags []string
	if err := c.param("tag_ids", &tags); err != nil {
		return nil, err
	}
	out := make([]objectsOfTag, 0, len(tags))
	for _, id := range tags {
		if refs, err := h.store.objectsWith(id); err == nil {
			out = append(out, objectsOfTag{id, h.visible(c.user, refs)})
		}
	}
	return out, nil
}

// maxDetails limits the details of sessions whose end was not reported.
const maxDetails = 8192

// detail describes a session.
type detail struct {
	User     string `json:"user"`
	Created  string `json:"created_time"`
	Accessed string `json:"last_accessed_time"`

	accessed time.Time
}

// details records when sessions were opened and used. A dropped session starts again.
type details struct {
	mu sync.Mutex
	of map[string]*detail
}

// stamp formats a time like vCenter.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func (d *details) open(id, user string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.add(id, user, now)
}

// add adds a session. The caller holds the lock.
func (d *details) add(id, user string, now time.Time) {
	if len(d.of) >= maxDetails {
		d.forget()
	}
	d.of[id] = &detail{User: user, Created: stamp(now), accessed: now}
}

// forget drops the least recently used half.
func (d *details) forget() {
	all := make([]string, 0, len(d.of))
	for id := range d.of {
		all = append(all, id)
	}
	slices.SortFunc(all, func(a, b string) int { return d.of[a].accessed.Compare(d.of[b].accessed) })
	for _, id := range all[:len(all)/2] {
		delete(d.of, id)
	}
}

func (d *details) touch(id, user string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.of[id]; s != nil {
		s.accessed = now
		return
	}
	d.add(id, user, now)
}

func (d *details) drop(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.of, id)
}

// get returns the details of a session that is in use.
func (d *details) get(id string) detail {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.of[id]
	if s == nil { // ended concurrently
		return detail{}
	}
	out := *s
	out.Accessed = stamp(s.accessed)
	return out
}
