package store

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Datastores returns the datastores of that name in all vCenters, each with its datacenter: a name is one datacenter's own.
// With none, the error is volume.ErrNoDatastore. A vCenter that does not answer may have one: that is
// volume.ErrUnavailable, whatever the others have.
func (s *Store) Datastores(ctx context.Context, name string) (all []volume.Datastore, err error) {
	defer s.observe("", "datastores", time.Now(), &err)
	found, errs := each(s.conns(), func(c *conn) (all []volume.Datastore, err error) {
		all, err = c.datastores(ctx, name)
		about(c, &err, "datastores named %q", name)
		return all, err
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if all = slices.Concat(found...); len(all) == 0 {
		return nil, fmt.Errorf("%w: there is none named %q in %s", volume.ErrNoDatastore, name, s.names())
	}
	return all, nil
}

func (c *conn) datastores(ctx context.Context, name string) ([]volume.Datastore, error) {
	var found []mo.Datastore
	err := c.call(ctx, func(ctx context.Context, s *services) error {
		all, err := view.NewManager(s.vim).CreateContainerView(ctx, s.vim.ServiceContent.RootFolder, []string{"Datastore"}, true)
		if err != nil {
			return err
		}
		defer func() { _ = all.Destroy(ctx) }() // it ends with the session otherwise
		return all.Retrieve(ctx, []string{"Datastore"}, []string{"name", "summary"}, &found)
	})
	if err != nil {
		return nil, err
	}
	var all []volume.Datastore
	for _, d := range found {
		if d.Name != name {
			continue
		}
		in, err := c.datacenter(ctx, d.Self)
		if err != nil {
			return nil, err
		}
		all = append(all, volume.Datastore{
			VCenter: c.name(), Ref: d.Self.Value, Name: d.Name, URL: d.Summary.Url, Datacenter: in,
			Capacity: d.Summary.Capacity, Free: d.Summary.FreeSpace,
		})
	}
	return all, nil
}

// datacenter is the inventory path of the datacenter that an object is in; empty when it is in none.
func (c *conn) datacenter(ctx context.Context, of ref) (string, error) {
	var above []mo.ManagedEntity
	err := c.call(ctx, func(ctx context.Context, s *services) (err error) {
		above, err = mo.Ancestors(ctx, s.vim, s.vim.ServiceContent.PropertyCollector, of)
		return err
	})
	if err != nil {
		return "", err
	}
	in := ""
	for _, e := range above[min(1, len(above)):] { // the root folder's name is in no path
		in = path.Join(in, e.Name)
		if e.Self.Type == "Datacenter" {
			return in, nil
		}
	}
	return "", nil
}
