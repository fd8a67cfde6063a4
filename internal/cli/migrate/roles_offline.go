package migrate

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/roles"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/privilege"
)

// offline plans for what a file names, or in general.
func (o *rolesOptions) offline() ([]*roles.Plan, error) {
	if o.conf == "" {
		p, err := o.request("", nil)
		return []*roles.Plan{p}, err
	}
	source, err := readSource(o.streams.In, o.conf)
	if err != nil {
		return nil, err
	}
	cfg, err := meaning(source, o.force)
	if err != nil {
		return nil, &report.Error{
			Code: "cloud-config-invalid", Message: source.Name + " cannot be used\n" + strings.TrimSpace(err.Error()), Exit: report.Usage,
			Try: tryMeaning(o.conf, err),
		}
	}
	place := workspace(source.Name, source.Data)
	var plans []*roles.Plan
	for _, v := range cfg.VCenters {
		sites := roles.Sites{privilege.Root: {{Path: "/"}}}
		for _, dc := range v.Datacenters {
			sites[privilege.Datacenter] = append(sites[privilege.Datacenter], roles.Object{Path: rooted(dc)})
		}
		if place.server == v.Server && place.datacenter != "" {
			place.add(sites)
		}
		p, err := o.request(v.Tenant, sites)
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	return plans, nil
}

func rooted(path string) string { return "/" + strings.Trim(path, "/") }

// place is where the in-tree provider puts things.
type place struct{ server, datacenter, folder, datastore string }

// workspace reads the section that says so; what is no INI has none.
func workspace(name string, data []byte) (p place) {
	if !config.LooksLikeINI(data) {
		return p
	}
	sections, _ := config.ReadINI(name, data)
	for _, s := range sections {
		if !strings.EqualFold(s.Name, "Workspace") {
			continue
		}
		for _, e := range s.Entries {
			switch strings.ToLower(e.Key) {
			case "server":
				p.server = e.Value
			case "datacenter":
				p.datacenter = e.Value
			case "folder":
				p.folder = e.Value
			case "default-datastore":
				p.datastore = e.Value
			}
		}
	}
	return p
}

// add adds the folder of the nodes and the datastore of the volumes.
func (p place) add(sites roles.Sites) {
	dc := rooted(p.datacenter)
	switch {
	case strings.HasPrefix(p.folder, "/"):
		sites[privilege.Machines] = []roles.Object{{Path: p.folder}}
	case p.folder != "":
		sites[privilege.Machines] = []roles.Object{{Path: dc + "/vm/" + p.folder}}
	}
	switch {
	case strings.HasPrefix(p.datastore, "/"):
		sites[privilege.Datastore] = []roles.Object{{Path: p.datastore}}
	case p.datastore != "":
		sites[privilege.Datastore] = []roles.Object{{Path: dc + "/datastore/" + p.datastore}}
	}
}
