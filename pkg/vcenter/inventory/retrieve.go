package inventory

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
)

// page is how many objects an answer may hold: what a slow vCenter tells of within one call's time.
const page = 500

// retrieve reads properties of everything in the inventory that the account may see, each page a call.
func retrieve(ctx context.Context, c *vcenter.Connection, kinds []string, specs []types.PropertySpec) ([]types.ObjectContent, error) {
	var v *view.ContainerView
	err := c.Do(ctx, func(ctx context.Context, vim *vim25.Client) (err error) {
		v, err = view.NewManager(vim).CreateContainerView(ctx, vim.ServiceContent.RootFolder, kinds, true)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list inventory: %w", err)
	}
	defer func() {
		if ctx.Err() != nil {
			return // nobody waits for an answer any more; a view that stays behind goes with the session
		}
		_ = c.Do(ctx, func(ctx context.Context, _ *vim25.Client) error { return v.Destroy(ctx) })
	}()
	ref := v.Reference()
	all, err := Retrieve(ctx, c, types.PropertyFilterSpec{
		PropSet: specs,
		ObjectSet: []types.ObjectSpec{{
			Obj: ref, Skip: new(true),
			SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: ref.Type, Path: "view"}},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("read inventory: %w", err)
	}
	return all, nil
}

// Retrieve reads what the filter says, page by page, each a call with a deadline of its own.
func Retrieve(ctx context.Context, c *vcenter.Connection, filter types.PropertyFilterSpec) ([]types.ObjectContent, error) {
	var (
		all   []types.ObjectContent
		token string
	)
	err := c.Do(ctx, func(ctx context.Context, vim *vim25.Client) error {
		res, err := methods.RetrievePropertiesEx(ctx, vim, &types.RetrievePropertiesEx{
			This: vim.ServiceContent.PropertyCollector, SpecSet: []types.PropertyFilterSpec{filter},
			Options: types.RetrieveOptions{MaxObjects: page},
		})
		if err == nil && res.Returnval != nil {
			all, token = res.Returnval.Objects, res.Returnval.Token
		}
		return err
	})
	for err == nil && token != "" {
		err = c.Do(ctx, func(ctx context.Context, vim *vim25.Client) error {
			res, err := methods.ContinueRetrievePropertiesEx(ctx, vim, &types.ContinueRetrievePropertiesEx{
				This: vim.ServiceContent.PropertyCollector, Token: token,
			})
			if err == nil {
				all, token = append(all, res.Returnval.Objects...), res.Returnval.Token
			}
			return err
		})
	}
	return all, err
}
