package rest_test

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	client "github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
)

func TestSessionOfGovmomi(t *testing.T) {
	v := newVCenter(t, nil)
	c := client.NewClient(v.soap(t))
	if s, err := c.Session(t.Context()); err != nil || s != nil {
		t.Errorf("session before login: %v, %v", s, err)
	}
	if err := c.Login(t.Context(), url.UserPassword(admin, "wrong")); !client.IsStatusError(err, http.StatusUnauthorized) {
		t.Errorf("wrong password: %v", err)
	}
	if err := c.LoginByToken(t.Context()); !client.IsStatusError(err, http.StatusUnauthorized) {
		t.Errorf("no password: %v", err)
	}
	if err := c.Login(t.Context(), url.UserPassword(admin, password)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Session(t.Context())
	if err != nil || s == nil || s.User != admin || s.Created.IsZero() || s.LastAccessed.Before(s.Created) {
		t.Errorf("session: %+v, %v", s, err)
	}
	if err := c.Logout(t.Context()); err != nil {
		t.Error(err)
	}
	if s, err := c.Session(t.Context()); err != nil || s != nil {
		t.Errorf("session after logout: %v, %v", s, err)
	}
}

// TestTagsOfGovmomi goes through everything that vapi/tags can do.
func TestTagsOfGovmomi(t *testing.T) {
	v := newVCenter(t, nil)
	m, ctx := v.tags(t), t.Context()
	vms := v.vms()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}

	zone, err := m.CreateCategory(ctx, &tags.Category{Name: "zone", Description: "where", Cardinality: "MULTIPLE"})
	must("create category", err)
	must("update category", m.UpdateCategory(ctx, &tags.Category{ID: zone, Name: "k8s-zone"}))
	c, err := m.GetCategory(ctx, "k8s-zone")
	must("get category", err)
	if c.ID != zone || c.Description != "where" || c.Cardinality != "MULTIPLE" || !strings.HasPrefix(zone, rest.CategoryPrefix) {
		t.Errorf("category: %+v", c)
	}
	a, err := m.CreateTag(ctx, &tags.Tag{Name: "a", CategoryID: "k8s-zone"})
	must("create tag", err)
	b, err := m.CreateTag(ctx, &tags.Tag{Name: "b", CategoryID: zone, TagID: tag("chosen")})
	must("create tag", err)
	if b != tag("chosen") {
		t.Errorf("tag ID %s", b)
	}
	must("update tag", m.UpdateTag(ctx, &tags.Tag{ID: b, Name: "b2", Description: "second"}))
	if g, err := m.GetTagForCategory(ctx, "b2", "k8s-zone"); err != nil || g.ID != b || g.Description != "second" {
		t.Errorf("tag: %+v, %v", g, err)
	}
	if l, err := m.ListTagsForCategory(ctx, "k8s-zone"); err != nil || !slices.Equal(l, []string{a, b}) {
		t.Errorf("tags of the category: %v, %v", l, err)
	}

	must("attach", m.AttachTag(ctx, "a", vms[0]))
	must("attach again", m.AttachTag(ctx, a, vms[0]))
	must("attach to multiple", m.AttachTagToMultipleObjects(ctx, b, []mo.Reference{vms[0], vms[1]}))
	objects, err := m.ListAttachedObjects(ctx, b)
	if err != nil || len(objects) != 2 || objects[0].Reference() != vms[0] || objects[1].Reference() != vms[1] {
		t.Errorf("objects: %v, %v", objects, err)
	}
	on, err := m.GetAttachedTagsOnObjects(ctx, []mo.Reference{vms[0], vms[1]})
	if err != nil || len(on) != 2 || len(on[0].Tags) != 2 || len(on[1].Tags) != 1 || on[1].Tags[0].Name != "b2" {
		t.Errorf("tags on objects: %+v, %v", on, err)
	}
	with, err := m.GetAttachedObjectsOnTags(ctx, []string{a, b})
	if err != nil || len(with) != 2 || len(with[0].ObjectIDs) != 1 || len(with[1].ObjectIDs) != 2 {
		t.Errorf("objects on tags: %+v, %v", with, err)
	}
	must("detach multiple", m.DetachMultipleTagsFromObject(ctx, []string{a, b}, vms[0]))
	if l, err := m.GetAttachedTags(ctx, vms[0]); err != nil || len(l) != 0 {
		t.Errorf("tags after detach: %v, %v", l, err)
	}
	if l, err := m.ListAttachedObjects(ctx, b); err != nil || len(l) != 1 {
		t.Errorf("objects after detach: %v, %v", l, err)
	}
	must("attach multiple", m.AttachMultipleTagsToObject(ctx, []string{a, b}, vms[0]))
	must("detach", m.DetachTag(ctx, a, vms[0]))

	missing := tag("nobody")
	var batch tags.BatchErrors
	if err := m.AttachMultipleTagsToObject(ctx, []string{missing, a}, vms[0]); !errors.As(err, &batch) || len(batch) != 1 ||
		batch[0] != (tags.BatchError{Type: "cis.tagging.objectNotFound.error", Message: "Tagging object " + missing + " not found"}) {
		t.Errorf("batch: %v", err)
	}

	must("delete tag", m.DeleteTag(ctx, &tags.Tag{ID: a}))
	if l, err := m.ListAttachedTags(ctx, vms[0]); err != nil || !slices.Equal(l, []string{b}) {
		t.Errorf("tags after deletion: %v, %v", l, err)
	}
	must("delete category", m.DeleteCategory(ctx, &tags.Category{ID: zone}))
	if l, err := m.ListTags(ctx); err != nil || len(l) != 0 {
		t.Errorf("tags without category: %v, %v", l, err)
	}
	if _, err := m.GetTag(ctx, b); !client.IsStatusError(err, http.StatusNotFound) {
		t.Errorf("deleted tag: %v", err)
	}
}

// TestLibraryBehindUs: the content library is vcsim's, in sessions of ours.
func TestLibraryBehindUs(t *testing.T) {
	var panics atomic.Bool
	v := newVCenter(t, func(o *rest.Options) {
		next := o.Next
		o.Next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if panics.Load() && strings.HasPrefix(r.URL.Path, "/api/content") {
				panic("as on an unexpected body")
			}
			next.ServeHTTP(w, r)
		})
	})
	const path = "/rest/com/vmware/content/library"
	if a := v.do(t, http.MethodGet, path, nil); a.status != http.StatusOK {
		t.Errorf("list: %+v", a)
	}
	if a := v.do(t, http.MethodGet, path, nil, "vmware-api-session-id", "other"); a.status != http.StatusUnauthorized ||
		!strings.Contains(a.body, "unauthenticated") {
		t.Errorf("list without session: %+v", a)
	}
	if a := v.do(t, http.MethodGet, "/api/content/trusted-certificates", nil); a.status != http.StatusOK {
		t.Errorf("certificates: %+v", a)
	}
	if a := v.do(t, http.MethodPost, "/api", `{"params":7}`); a.status != http.StatusOK || !strings.Contains(a.body, "-32600") {
		t.Errorf("JSON-RPC: %+v", a)
	}
	panics.Store(true)
	if a := v.do(t, http.MethodGet, "/api/content/trusted-certificates", nil); a.status != http.StatusInternalServerError ||
		!strings.Contains(a.body, "INTERNAL_SERVER_ERROR") {
		t.Errorf("a panic of vcsim: %+v", a)
	}
	panics.Store(false)
	if a := v.do(t, http.MethodGet, path, nil); a.status != http.StatusOK {
		t.Errorf("list afterwards: %+v", a)
	}
}
