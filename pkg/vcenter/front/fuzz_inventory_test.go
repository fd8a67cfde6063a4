package front_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
)

// everything reads what a vCenter has, past the front: all properties of all managed objects and of the managers, datastore
// files, tags and what they are on, roles and permissions, libraries, volumes. What a reader changes by being there is left out:
// sessions, tasks, events.
func (r *rig) everything(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for file, content := range r.files(t) {
		found["file "+file] = content
	}
	err := r.direct.Do(t.Context(), func(ctx context.Context, vim *vim25.Client) error {
		if err := objects(ctx, vim, found); err != nil {
			return err
		}
		roles := object.NewAuthorizationManager(vim)
		list, err := roles.RoleList(ctx)
		if err != nil {
			return err
		}
		permissions, err := roles.RetrieveAllPermissions(ctx)
		if err != nil {
			return err
		}
		volumes, err := cns.NewClient(ctx, vim)
		if err != nil {
			return err
		}
		query, err := volumes.QueryVolume(ctx, &cnstypes.CnsQueryFilter{})
		if err != nil {
			return err
		}
		for _, p := range permissions { // in no order
			found["permission "+text(p)] = "granted"
		}
		for _, v := range query.Volumes {
			found["volume "+v.VolumeId.Id] = text(v)
		}
		found["roles"] = text(list)
		return nil
	})
	if err == nil {
		err = r.direct.DoREST(t.Context(), func(ctx context.Context, rc *rest.Client) error { return tagged(ctx, rc, found) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error() // the same before and after
	}
	return string(data)
}

// objects reads managed objects.
func objects(ctx context.Context, vim *vim25.Client, found map[string]string) error {
	v, err := view.NewManager(vim).CreateContainerView(ctx, vim.ServiceContent.RootFolder, nil, true)
	if err != nil {
		return err
	}
	refs, err := v.Find(ctx, []string{"ManagedEntity"}, property.Match{})
	if err := v.Destroy(ctx); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	content := vim.ServiceContent
	refs = append(refs, content.RootFolder)
	for _, manager := range []*types.ManagedObjectReference{
		content.Setting, content.CustomFieldsManager, content.ExtensionManager, content.LicenseManager, content.AlarmManager, content.ScheduledTaskManager, content.DvSwitchManager,
		content.StorageResourceManager, content.CustomizationSpecManager,
	} {
		if manager != nil {
			refs = append(refs, *manager)
		}
	}
	for _, ref := range refs {
		res, err := property.DefaultCollector(vim).RetrieveProperties(ctx, types.RetrieveProperties{SpecSet: []types.PropertyFilterSpec{{
			PropSet: []types.PropertySpec{{Type: ref.Type, All: new(true)}}, ObjectSet: []types.ObjectSpec{{Obj: ref}},
		}}})
		if err != nil {
			return err
		}
		for _, o := range res.Returnval {
			found[ref.String()] = "is there"
			for _, p := range o.PropSet {
				if p.Name != "recentTask" {
					found[ref.String()+" "+p.Name] = text(p.Val)
				}
			}
		}
	}
	return nil
}

// tagged reads what the Automation API has.
func tagged(ctx context.Context, rc *rest.Client, found map[string]string) error {
	m := tags.NewManager(rc)
	categories, err := m.GetCategories(ctx)
	if err != nil {
		return err
	}
	for _, c := range categories {
		found["category "+c.ID] = text(c)
	}
	all, err := m.GetTags(ctx)
	if err != nil {
		return err
	}
	for _, tag := range all {
		found["tag "+tag.ID] = text(tag)
		on, err := m.ListAttachedObjects(ctx, tag.ID)
		if err != nil {
			return err
		}
		for _, o := range on {
			found["tag "+tag.ID+" on "+o.Reference().String()] = "attached"
		}
	}
	libraries, err := library.NewManager(rc).GetLibraries(ctx)
	if err != nil {
		return err
	}
	for _, l := range libraries {
		items, err := library.NewManager(rc).GetLibraryItems(ctx, l.ID)
		if err != nil {
			return err
		}
		found["library "+l.ID] = text(l) + text(items)
	}
	return nil
}

// changes are what is different, but for what may be.
func changes(before, after map[string]string, may func(key string) bool) (list []string) {
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if before[key] != after[key] && !may(key) {
			list = append(list, fmt.Sprintf("%s: %.200q is now %.200q", key, before[key], after[key]))
		}
	}
	return list
}

// of says whether a key of everything is about a VM that may be written to: itself, its tags, its files, its runtime at
// the host and the pool that it is on.
func of(vm types.ManagedObjectReference, name string) func(key string) bool {
	return func(key string) bool {
		return key == vm.String() || strings.HasPrefix(key, vm.String()+" ") || strings.HasSuffix(key, " on "+vm.String()) || strings.HasPrefix(key, "file /"+name+"/")
	}
}
