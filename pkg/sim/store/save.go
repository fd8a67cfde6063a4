package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	rests "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
)

// Options configures [Save].
type Options struct {
	// Name is the vCenter's name in the folder. Default: the host in the client's URL.
	Name string
	// Scrub anonymizes the folder: names of hosts and guests, IP addresses and users are replaced, consistently within the folder
	// and across saves of the same inventory; annotations, guestinfo variables, certificates and license keys are removed. Names
	// of objects stay, except for host names in them; so do UUIDs and MAC addresses. A host whose name is a plain word ("green")
	// is renamed where the name of a host is expected.
	Scrub bool
	// Replace replaces an existing folder once the new one is complete. Without it, the folder must not exist, or be empty.
	Replace bool
	// Progress, if not nil, is called with the number of objects saved, and of all.
	Progress func(saved, all int)
}

// Summary describes a save.
type Summary struct {
	Objects, Tags, Policies, Permissions int
}

// Save saves the inventory of the vCenter of c in the folder dir, which it creates; the parent must exist. r is a REST session at
// the same vCenter; nil: without tags. A failed save leaves nothing behind.
//
// The inventory may change during the save: removed objects are left out.
func Save(ctx context.Context, c *vim25.Client, r *rest.Client, dir string, o Options) (_ *Summary, err error) {
	w, err := newWriter(dir, o.Replace)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.discard())
		}
	}()
	if o.Name == "" {
		o.Name = c.URL().Hostname()
	}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	s := &saver{ctx: ctx, client: c, rest: r, writer: w, options: o, summary: new(Summary)}
	if err := s.save(); err != nil {
		return nil, err
	}
	return s.summary, w.commit(s.manifest)
}

// saver is one save.
type saver struct {
	ctx      context.Context
	client   *vim25.Client
	rest     *rest.Client
	writer   *writer
	options  Options
	scrubber *scrubber
	manifest manifest
	summary  *Summary
	digits   int // of the numbers of files
}

var errNoVCenter = errors.New("is an ESXi host; only vCenters can be saved")

func (s *saver) save() error {
	var instance mo.ServiceInstance
	err := property.DefaultCollector(s.client).RetrieveOne(s.ctx, vim25.ServiceInstance, []string{"content"}, &instance)
	if err != nil {
		return fmt.Errorf("service content: %w", err)
	}
	about := instance.Content.About
	if about.ApiType != apiType {
		return fmt.Errorf("%s: %w", s.client.URL().Host, errNoVCenter)
	}
	list, err := s.list(&instance.Content)
	if err != nil {
		return err
	}
	rules, err := s.access()
	if err != nil {
		return err
	}
	if s.options.Scrub {
		if s.scrubber, err = s.newScrubber(rules); err != nil {
			return err
		}
		s.options.Name = s.scrubber.text("name", s.options.Name)
	}
	s.manifest = manifest{
		Format: formatVersion, VCenter: s.options.Name, InstanceUUID: about.InstanceUuid, Version: about.Version,
		Scrubbed: s.options.Scrub,
	}
	first := types.ObjectContent{
		Obj: vim25.ServiceInstance, PropSet: []types.DynamicProperty{{Name: "content", Val: instance.Content}},
	}
	s.digits = max(4, len(fmt.Sprint(len(list))))
	if err := s.object(first); err != nil {
		return err
	}
	if err := s.objects(list); err != nil {
		return err
	}
	if err := s.tags(); err != nil {
		return fmt.Errorf("tags: %w", err)
	}
	if err := s.policies(); err != nil {
		return fmt.Errorf("storage policies: %w", err)
	}
	return s.writeAccess(rules)
}

// apiType is the API type of a vCenter.
const apiType = "VirtualCenter"

// tags saves categories, tags and associations, sorted by name, because the API has no order.
func (s *saver) tags() error {
	if s.rest == nil {
		return nil
	}
	m := tags.NewManager(s.rest)
	categories, err := m.GetCategories(s.ctx)
	if err != nil {
		return err
	}
	all, err := m.GetTags(s.ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(categories, func(a, b tags.Category) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	slices.SortFunc(all, func(a, b tags.Tag) int {
		return cmp.Or(cmp.Compare(a.CategoryID, b.CategoryID), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	var out rests.Snapshot
	for _, c := range categories {
		out.Categories = append(out.Categories, rests.Category{
			ID: c.ID, Name: c.Name, Description: c.Description, Cardinality: c.Cardinality,
			AssociableTypes: slices.Sorted(slices.Values(c.AssociableTypes)), UsedBy: c.UsedBy,
		})
	}
	var ids []string
	for _, t := range all {
		out.Tags = append(out.Tags, rests.Tag{
			ID: t.ID, CategoryID: t.CategoryID, Name: t.Name, Description: t.Description, UsedBy: t.UsedBy,
		})
		ids = append(ids, t.ID)
	}
	on := make(map[string][]vc.Ref)
	for part := range slices.Chunk(ids, 500) {
		attached, err := m.ListAttachedObjectsOnTags(s.ctx, part)
		if err != nil {
			return err
		}
		for _, a := range attached {
			for _, o := range a.ObjectIDs {
				ref := o.Reference()
				on[a.TagID] = append(on[a.TagID], vc.Ref{Type: ref.Type, Value: ref.Value})
			}
		}
	}
	for _, id := range ids {
		for _, ref := range distinct(on[id]) {
			out.Associations = append(out.Associations, rests.Association{TagID: id, Object: ref})
		}
	}
	if s.scrubber != nil {
		out = scrub(s.scrubber, out)
	}
	s.summary.Tags = len(out.Tags)
	return s.writer.json(tagsName, out)
}
