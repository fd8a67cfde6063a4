package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// labels are the categories that the cloud-config wants.
func (a Around) labels() config.Labels {
	if a.Config.Is == nil {
		return config.Labels{}
	}
	return a.Config.Is.Labels
}

// zone says where region and zone of the node come from, or why they do not come.
func (c Node) zone() (q question) {
	has := config.Labels{Region: c.Node.Is.Labels[corev1.LabelTopologyRegion], Zone: c.Node.Is.Labels[corev1.LabelTopologyZone]}
	labeled := has.Region != "" && has.Zone != ""
	if q.Ask = "Where do its region and zone come from?"; !labeled {
		q.Ask = "Why has it no region and zone?"
	}
	q.saw(apiServer, verdictOf(labeled), "labels of the Node", "region %s, zone %s", orNone(has.Region), orNone(has.Zone))
	if !labeled {
		q.Evidence[0].Verdict = missing
	}
	m, want := c.vm(), c.labels()
	switch {
	case c.Config.Err != nil:
		q.saw(cloudConfig, unknown, "categories", "%v", c.Config.Err)
		q.answer(event.Warning, c.validate(), "not known now: the cloud-config, which says what tags count, cannot be read; labels stay as they are")
		return q
	case want.Region == "" || want.Zone == "":
		q.Evidence[0].Verdict = neither
		q.saw(cloudConfig, neither, "categories", "region %s, zone %s", orNone(want.Region), orNone(want.Zone))
		q.answer(event.Info, "", "the cloud-config does not name a tag category for both: the CCM gives no node a region or zone")
		return q
	default:
		q.saw(cloudConfig, fine, "categories", "region %s, zone %s", want.Region, want.Zone)
	}
	if m == nil {
		q.saw("vCenters", neither, "its VM", "not found, and no tags with it")
		if labeled {
			q.answer(event.Info, "", "its labels stay as they were set: there is no VM to ask about")
		}
		q.answer(event.Warning, "", "its VM is not found, and the tags are on what the VM is in")
		return q
	}
	p := c.walk(&q, *m, want)
	switch {
	case m.TagsErr != nil:
		q.answer(event.Warning, "", "not known now: the tags of vCenter %s cannot be read", m.VCenter)
	case p.found:
		c.tagged(&q, *m, p, has, labeled)
	default:
		c.untagged(&q, *m, p, want, labeled)
	}
	return q
}

// walk adds every object on the way, with the tags that count.
func (a Around) walk(q *question, m VMState, want config.Labels) placed {
	p := place(m, want)
	if m.TagsErr != nil {
		q.saw("vCenter "+m.VCenter, unknown, "tags", "%v", m.TagsErr)
	}
	if vc, ok := a.vcenter(m.VCenter); ok && vc.Categories.Err == nil && vc.Categories.Is != nil {
		for _, category := range []string{want.Region, want.Zone} {
			if !slices.Contains(vc.Categories.Is, category) {
				q.saw("vCenter "+vc.Name, missing, "tag category "+category, "does not exist")
			}
		}
	}
	for _, s := range p.steps {
		verdict := neither
		if s.region || s.zone {
			verdict = fine
		}
		if len(s.regions) > 1 || len(s.zones) > 1 {
			verdict = wrong
		}
		q.saw("vCenter "+m.VCenter, verdict, s.from+s.name(), "%s", s.text(p.found, want))
	}
	return p
}

// name is an object as an administrator calls it.
func (o Object) name() string {
	words := map[string]string{
		"HostSystem": "host", "ClusterComputeResource": "compute cluster", "ComputeResource": "compute resource", "Folder": "folder",
		"Datacenter": "datacenter", "ResourcePool": "resource pool", "VirtualApp": "vApp", "VirtualMachine": "VM",
	}
	kind, ok := words[o.Type]
	if !ok {
		kind = o.Type
	}
	return kind + " " + o.Name
}

// text says what tags an object has, and which do not count.
func (s step) text(found bool, want config.Labels) string {
	var parts []string
	say := func(category string, names []string, counts bool) {
		switch {
		case len(names) == 0:
		case !found:
			parts = append(parts, category+" "+strings.Join(names, ", "))
		case !counts:
			parts = append(parts, fmt.Sprintf("%s %s (not counted: a nearer one has one)", category, strings.Join(names, ", ")))
		case len(names) > 1:
			parts = append(parts, fmt.Sprintf("%s %s: several, and the first by name counts", category, strings.Join(names, ", ")))
		default:
			parts = append(parts, category+" "+names[0])
		}
	}
	say(want.Region, s.regions, s.region)
	if want.Zone != want.Region {
		say(want.Zone, s.zones, s.zone)
	}
	if len(parts) == 0 {
		return "no tag of either"
	}
	return strings.Join(parts, "; ")
}

// tagged compares what the tags say with what the labels do.
func (c Node) tagged(q *question, m VMState, p placed, has config.Labels, labeled bool) {
	says := p.region + "/" + p.zone
	for _, name := range []string{p.region, p.zone} {
		if problems := validation.IsValidLabelValue(name); len(problems) > 0 {
			q.saw("vCenter "+m.VCenter, wrong, "tag "+name, "%s", strings.Join(problems, "; "))
			q.answer(event.Error, "", "the tag %q cannot be the value of a label", name)
		}
	}
	if labeled && (has.Region != p.region || has.Zone != p.zone) {
		e := c.moved(m)
		q.because(c.Around, e)
		how := "the CCM sets them once, when it initializes a node"
		try := "vsphere-sandbox ccm --help; a CCM with --relabel-zones keeps them true"
		if c.Relabels {
			how, try = "the CCM runs with --relabel-zones and has not reached it yet", ""
		}
		q.answer(event.Warning, try, "the labels say %s/%s, and the tags above VM %s say %s by now%s; %s", has.Region, has.Zone, m.id(), says, c.who(e), how)
	}
	if p.doubled() {
		q.answer(event.Warning, "", "region %s and zone %s, but an object on the way has several tags of one category, of which the first by name counts", p.region, p.zone)
	}
	if !labeled {
		if c.uninitialized() {
			q.answer(event.Warning, "", "its tags say %s; the CCM sets the labels when it initializes the node", says)
		}
		q.answer(event.Warning, "", "its tags say %s, and it was initialized without: labels are set once, or by --relabel-zones", says)
	}
	q.answer(event.Info, "", "region %s and zone %s, by the nearest tags above VM %s", p.region, p.zone, m.id())
}

func (p placed) doubled() bool {
	return slices.ContainsFunc(p.steps, func(s step) bool { return len(s.regions) > 1 || len(s.zones) > 1 })
}

// untagged says what is missing, and what follows from it.
func (c Node) untagged(q *question, m VMState, p placed, want config.Labels, labeled bool) {
	e := c.newest(func(e event.Event) bool {
		return slices.Contains([]string{"tag.detached", "tag.deleted", "tag-category.deleted"}, e.Kind) && (e.Object.VCenter == m.VCenter || e.Object.Name == m.VCenter)
	})
	lacks, try := lacking(p, want), "vsphere-sandbox govc --vcenter "+m.VCenter+" tags.attach -c "+want.Zone+" TAG PATH"
	if p.regions == 0 {
		try = "vsphere-sandbox govc --vcenter " + m.VCenter + " tags.attach -c " + want.Region + " TAG PATH"
	}
	if vc, ok := c.vcenter(m.VCenter); ok && vc.Categories.Err == nil && vc.Categories.Is != nil {
		for _, category := range []string{want.Region, want.Zone} {
			if !slices.Contains(vc.Categories.Is, category) {
				lacks, try = lacks+", a category that vCenter "+vc.Name+" does not have", "vsphere-sandbox govc --vcenter "+vc.Name+" tags.category.ls"
			}
		}
	}
	q.saw("vCenter "+m.VCenter, missing, "tags of both categories", "%s", lacks)
	q.because(c.Around, e)
	if labeled {
		q.answer(event.Warning, try, "its labels stay as they were set, but VM %s has %s%s. A node that registers again would not be initialized", m.id(), lacks, c.who(e))
	}
	q.answer(event.Error, try, "VM %s has %s%s", m.id(), lacks, c.who(e))
}

// lacking says which tags are not there.
func lacking(p placed, want config.Labels) string {
	switch {
	case p.regions > 0 && p.zones > 0:
		return "tags of both categories above it, but on no one way up"
	case p.regions > 0:
		return "no tag of category " + want.Zone + " on any of " + count(len(p.steps)) + " objects"
	case p.zones > 0:
		return "no tag of category " + want.Region + " on any of " + count(len(p.steps)) + " objects"
	}
	return "no tag of category " + want.Region + " or " + want.Zone + " on any of " + count(len(p.steps)) + " objects"
}

// moved is the newest event that may have made a VM's zone another one.
func (a Around) moved(m VMState) event.Event {
	return a.newest(func(e event.Event) bool {
		if e.Object.VCenter != m.VCenter {
			return false
		}
		return strings.HasPrefix(e.Kind, "tag.") || e.Object.Kind == "VM" && e.Object.Name == m.Name && (e.Kind == "vm.moved" || e.Kind == "ha.restarted")
	})
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// placed is where tags say that a VM is, and how that was found out.
type placed struct {
	region, zone string
	// found: both are known, by one walk.
	found bool
	// steps are the objects that were looked at, in order, each once.
	steps []step
	// regions and zones count the tags of each category on all of them.
	regions, zones int
}

// step is an object with the tags of the two categories on it.
type step struct {
	Object
	from           string // "", or where a further walk begins
	regions, zones []string
	region, zone   bool // its tag counts
}

// place walks as package inventory of the provider does (Inventory.Zone): from the host up, then from the resource pool,
// then from the VM, until one walk has both; for each the nearest tag counts, and of several on one object the first by
// name. What different walks find is not mixed.
func place(m VMState, want config.Labels) (p placed) {
	seen := map[spot]int{}
	for i, walk := range [][]Object{m.FromHost, m.FromPool, m.FromVM} {
		region, zone := "", ""
		var marks []func()
		for _, o := range walk {
			s := step{Object: o, regions: tagsOf(o, want.Region), zones: tagsOf(o, want.Zone)}
			at, had := seen[spot{o.Type, o.Name, o.Ref}]
			if !had {
				if at = len(p.steps); i > 0 {
					s.from = [...]string{"", "from the resource pool: ", "from the VM: "}[i]
				}
				seen[spot{o.Type, o.Name, o.Ref}] = at
				p.steps = append(p.steps, s)
				p.regions, p.zones = p.regions+len(s.regions), p.zones+len(s.zones)
			}
			if region == "" && len(s.regions) > 0 {
				region = s.regions[0]
				marks = append(marks, func() { p.steps[at].region = true })
			}
			if zone == "" && len(s.zones) > 0 {
				zone = s.zones[0]
				marks = append(marks, func() { p.steps[at].zone = true })
			}
			if region != "" && zone != "" {
				p.found = true
				break
			}
		}
		if p.region == "" && p.zone == "" || p.found {
			p.region, p.zone = region, zone
		}
		if p.found {
			for _, mark := range marks {
				mark()
			}
			return p
		}
	}
	return p
}

// spot identifies an object of a vCenter during a walk.
type spot struct{ kind, name, ref string }

// tagsOf lists the tags of a category on an object, by name.
func tagsOf(o Object, category string) (names []string) {
	for _, t := range o.Tags {
		if t.Category == category {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return names
}
