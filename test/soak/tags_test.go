package soak

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
)

// tag attaches and detaches tags, in a REST session that is not among those that are killed.
func tag(ctx context.Context, k *worker) error {
	v, _ := k.lab.VCenter("vc")
	c := rest.NewClient(k.client)
	c.Transport = timed{k.m, c.Transport}
	if err := c.Login(ctx, url.UserPassword(v.User(), v.Password())); err != nil {
		return err
	}
	defer func() { _ = c.Logout(ctx) }() // it may be over already
	m := tags.NewManager(c)
	category, err := m.GetCategory(ctx, "load")
	if err != nil {
		return err
	}
	id := ""
	name := "tag-" + k.name
	if t, err := m.GetTagForCategory(ctx, name, category.ID); err == nil {
		id = t.ID
	} else if id, err = m.CreateTag(ctx, &tags.Tag{Name: name, CategoryID: category.ID}); err != nil {
		return err
	}
	for !k.done() {
		vm := k.vm()
		if err := k.op("Attach", func() error { return m.AttachTag(ctx, id, vm) }); err != nil {
			return err
		}
		attached, err := m.ListAttachedTags(ctx, vm)
		if err != nil {
			return err
		}
		if !strings.Contains(strings.Join(attached, " "), id) {
			return fmt.Errorf("%s of %s is not among %v", name, vm.Reference(), attached)
		}
		if _, err := m.GetAttachedTags(ctx, vm); err != nil {
			return err
		}
		if err := k.op("Detach", func() error { return m.DetachTag(ctx, id, vm) }); err != nil {
			return err
		}
	}
	return nil
}

func (k *worker) op(name string, f func() error) error {
	end := k.m.begin("op."+name, 0)
	defer end()
	return f()
}

// timed times REST calls.
type timed struct {
	*meter
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t timed) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.next == nil {
		t.next = http.DefaultTransport
	}
	end := t.begin("REST "+r.Method, time.Duration(0))
	defer end()
	t.calls.Add(1)
	return t.next.RoundTrip(r)
}
