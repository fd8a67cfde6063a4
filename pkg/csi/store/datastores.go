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

// Datastores returns the datastores with that name in all vCenters, each with its datacenter, because names are unique only per
// datacenter. If none exists, the error is volume.ErrNoDatastore. If a vCenter does not respond, it is volume.ErrUnavailable,
// even if others have one.
func (s *Store) Datastores(ctx context.Context, name string) (all []volume.Datastore, err error) {
	defer s.observe("", "datastores", time.Now(), &err)
	found, errs := each(s.conns(), func(c *conn) (all []volume.Datastore, err error) {
		all, err = c.datastores(ctx, name)
		wrapError(c, &err, "datastores named %q", name)
		return all, err
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if all = slices.Concat(found...); len(all) == 0 {
		return nil, fmt.Errorf("%w: no datastore is named %q in %s", volume.ErrNoDatastore, name, s.names())
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
		defer func() { _ = all.Destroy(ctx) }() // otherwise it ends with the session
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

// datacenter returns the inventory path of an object's datacenter, or "".
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
	for _, e := range above[min(1, len(above)):] { // paths do not contain the root folder
		in = path.Join(in, e.Name)
		if e.Self.Type == "Datacenter" {
			return in, nil
		}
	}
	return "", nil
}
