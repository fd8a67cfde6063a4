package inventory

import (
	"fmt"
	"net/http"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// attachment is a tag, by name, on an object.
type attachment struct {
	tag string
	obj vc.Ref
}

// place notes the tags of an object; they are made at the end.
func (b *builder) place(ref vc.Ref, p topology.Place) {
	if p.Region != "" {
		b.regions = append(b.regions, attachment{p.Region, ref})
	}
	if p.Zone != "" {
		b.zones = append(b.zones, attachment{p.Zone, ref})
	}
}

// associable are the types of object that a region or a zone may be, those that the CPI looks at on its way from a VM's
// host up to the root.
var associable = [...]string{"Datacenter", "Folder", "ClusterComputeResource", "ComputeResource", "HostSystem"}

const tagging = "/rest/com/vmware/cis/tagging"

// attachTags makes the two categories, also when nothing is in them, and the tags.
func (b *builder) attachTags(c topology.Categories) error {
	api, err := login(b.ctx, b.target.Tags, b.target.Login)
	if err != nil {
		return err
	}
	defer api.logout()
	for _, category := range []struct {
		name, description string
		attachments       []attachment
	}{
		{c.Region, "Regions of Kubernetes nodes", b.regions},
		{c.Zone, "Zones of Kubernetes nodes", b.zones},
	} {
		if err := b.category(api, category.name, category.description, category.attachments); err != nil {
			return fmt.Errorf("category %q: %w", category.name, err)
		}
	}
	return nil
}

func (b *builder) category(api *rest, name, description string, attachments []attachment) error {
	var category string
	err := api.call(http.MethodPost, tagging+"/category", map[string]any{"create_spec": map[string]any{
		"category_id":      "urn:vmomi:InventoryServiceCategory:" + b.derive("category", name) + ":GLOBAL",
		"name":             name,
		"description":      description,
		"cardinality":      "SINGLE",
		"associable_types": associable,
	}}, &category)
	if err != nil {
		return err
	}
	tags := make(map[string]string)
	for _, a := range attachments {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		if tags[a.tag] == "" {
			var id string
			err := api.call(http.MethodPost, tagging+"/tag", map[string]any{"create_spec": map[string]any{
				"tag_id":      "urn:vmomi:InventoryServiceTag:" + b.derive("tag", name, a.tag) + ":GLOBAL",
				"name":        a.tag,
				"category_id": category,
			}}, &id)
			if err != nil {
				return fmt.Errorf("tag %q: %w", a.tag, err)
			}
			tags[a.tag] = id
		}
		err := api.call(http.MethodPost, tagging+"/tag-association/id:"+tags[a.tag]+"?~action=attach",
			map[string]any{"object_id": map[string]string{"type": a.obj.Type, "id": a.obj.Value}}, nil)
		if err != nil {
			return fmt.Errorf("tag %q on %s: %w", a.tag, a.obj.Value, err)
		}
	}
	return nil
}
