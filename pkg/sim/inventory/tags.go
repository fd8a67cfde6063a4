package inventory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strings"
	"unsafe"

	"github.com/google/uuid"
	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Tagger creates categories and tags, and attaches them. The caller chooses identifiers, and calls from one goroutine.
type Tagger interface {
	// Category creates a category. Cardinality is SINGLE or MULTIPLE; no types means any.
	Category(id, name, description, cardinality string, types []string) error
	// Tag creates a tag of the category with that identifier.
	Tag(id, category, name, description string) error
	// Attach attaches a tag to an object.
	Attach(tag string, ref vc.Ref) error
}

// tags are the recorded tags, created at the end in this order.
type tags struct {
	region, zone string
	categories   []topology.TagCategory
	attachments  []attachment
}

type attachment struct {
	topology.Tag
	on vc.Ref
}

func newTags(spec *topology.Spec) *tags {
	return &tags{region: spec.Categories.Region, zone: spec.Categories.Zone, categories: spec.AllCategories()}
}

// place records the region and zone of an object.
func (t *tags) place(ref vc.Ref, p topology.Place) {
	if p.Region != "" {
		t.attachments = append(t.attachments, attachment{topology.Tag{Category: t.region, Name: p.Region}, ref})
	}
	if p.Zone != "" {
		t.attachments = append(t.attachments, attachment{topology.Tag{Category: t.zone, Name: p.Zone}, ref})
	}
}

// mark records the tags of an object.
func (t *tags) mark(ref vc.Ref, all []topology.Tag) {
	for _, tag := range all {
		t.attachments = append(t.attachments, attachment{tag, ref})
	}
}

// attachTags creates all categories, even empty ones, and the tags, including those that only policies name.
func (b *builder) attachTags() error {
	tagger := b.target.Tagger
	if tagger == nil {
		api, err := login(b.ctx, b.target.Tags, b.target.Login)
		if err != nil {
			return fmt.Errorf("tags: %w", err)
		}
		defer api.logout()
		tagger = api
	}
	categories := make(map[string]string)
	for _, c := range b.tags.categories {
		id := "urn:vmomi:InventoryServiceCategory:" + b.derive("category", c.Name) + ":GLOBAL"
		if err := tagger.Category(id, c.Name, c.Description, strings.ToUpper(string(c.Cardinality)), c.Types); err != nil {
			return fmt.Errorf("tag category %q: %w", c.Name, err)
		}
		categories[c.Name] = id
	}
	made := make(map[topology.Tag]string)
	for _, a := range b.tags.attachments {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		id, ok := made[a.Tag]
		if !ok {
			category, known := categories[a.Category]
			if !known {
				return fmt.Errorf("tag %q: no category %q", a.Name, a.Category)
			}
			id = "urn:vmomi:InventoryServiceTag:" + b.derive("tag", a.Category, a.Name) + ":GLOBAL"
			if err := tagger.Tag(id, category, a.Name, ""); err != nil {
				return fmt.Errorf("tag %q of %q: %w", a.Name, a.Category, err)
			}
			made[a.Tag] = id
		}
		if a.on == (vc.Ref{}) {
			continue
		}
		if err := tagger.Attach(id, a.on); err != nil {
			return fmt.Errorf("tag %q of %q on %s: %w", a.Name, a.Category, a.on.Value, err)
		}
	}
	return nil
}

// Profiles is the vCenter's storage policy service, called in process (package profile).
type Profiles interface {
	// Make creates the profile of a policy.
	Make(*topology.Policy) error
	// Restore adds a saved profile.
	Restore(*pbm.PbmCapabilityProfile) error
}

var errNoProfiles = errors.New("vCenter has no storage policy service")

// policies creates the storage policies.
func (b *builder) policies(all []topology.Policy) error {
	for i := range all {
		if b.target.Policies == nil {
			return fmt.Errorf("policy %q: %w", all[i].Name, errNoProfiles)
		}
		if err := b.target.Policies.Make(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

// fill sets two unexported fields of vcsim's VM: the file to which every power operation adds a line, and the UUID of the VM's
// world number. Only vcsim's CreateVM sets them, and that copies the default devices through XML, one VM at a time, which is most
// of the time of a large inventory.
//
// The lines are discarded: a vmware.log has other contents, and vcsim would write to the old place after a relocation.
//
// A vcsim without these fields is an error, which the first test that builds a VM finds.
func fill(vm *simulator.VirtualMachine, id uuid.UUID) error {
	v := reflect.ValueOf(vm).Elem()
	if err := set(v, "log", os.DevNull); err != nil {
		return err
	}
	return set(v, "uid", id)
}

// set sets an unexported field.
func set[T any](v reflect.Value, name string, value T) error {
	f := v.FieldByName(name)
	if !f.IsValid() || f.Type() != reflect.TypeFor[T]() {
		return fmt.Errorf("simulator.VirtualMachine has no field %s of type %T", name, value)
	}
	*(*T)(unsafe.Pointer(f.UnsafeAddr())) = value
	return nil
}

// rest calls the vCenter's vAPI endpoint in process, before it listens.
type rest struct {
	ctx     context.Context
	handler http.Handler
	login   *url.Userinfo
	session string
}

const sessionPath = "/rest/com/vmware/cis/session"

func login(ctx context.Context, h http.Handler, u *url.Userinfo) (*rest, error) {
	r := &rest{ctx: ctx, handler: h, login: u}
	if err := r.call(http.MethodPost, sessionPath, nil, &r.session); err != nil {
		return nil, fmt.Errorf("login: %w", err)
	}
	return r, nil
}

// logout ignores errors: the session would expire.
func (r *rest) logout() { _ = r.call(http.MethodDelete, sessionPath, nil, nil) }

func (r *rest) call(method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	q, err := http.NewRequestWithContext(r.ctx, method, path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	if r.session != "" {
		q.Header.Set("vmware-api-session-id", r.session)
	} else {
		password, _ := r.login.Password()
		q.SetBasicAuth(r.login.Username(), password)
	}
	w := &answer{status: http.StatusOK, header: make(http.Header)}
	r.handler.ServeHTTP(w, q)
	if w.status != http.StatusOK {
		return fmt.Errorf("%s %s: status %d: %s", method, path, w.status, bytes.TrimSpace(w.body.Bytes()))
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(w.body.Bytes(), &struct{ Value any }{out}); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

const tagging = "/rest/com/vmware/cis/tagging"

// Category implements [Tagger].
func (r *rest) Category(id, name, description, cardinality string, types []string) error {
	return r.call(http.MethodPost, tagging+"/category", map[string]any{"create_spec": map[string]any{
		"category_id": id, "name": name, "description": description, "cardinality": cardinality, "associable_types": types,
	}}, nil)
}

// Tag implements [Tagger].
func (r *rest) Tag(id, category, name, description string) error {
	return r.call(http.MethodPost, tagging+"/tag", map[string]any{"create_spec": map[string]any{
		"tag_id": id, "category_id": category, "name": name, "description": description,
	}}, nil)
}

// Attach implements [Tagger].
func (r *rest) Attach(tag string, ref vc.Ref) error {
	return r.call(http.MethodPost, tagging+"/tag-association/id:"+tag+"?~action=attach",
		map[string]any{"object_id": map[string]string{"type": ref.Type, "id": ref.Value}}, nil)
}

// answer is the response of a handler, in memory. (The recorder of net/http/httptest brings a command-line flag along.)
type answer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
