package migrate

import (
	"bytes"
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
			sites[privilege.Datacenter] = append(sites[privilege.Datacenter], roles.Object{Path: datacenter(dc)})
		}
		if config.SameHost(place.server, v.Server) && place.datacenter != "" {
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

// datacenter is one as govc takes it: a path, or a reference as it is.
func datacenter(name string) string {
	if isReference(name) {
		return name
	}
	return rooted(name)
}

// isReference is whether a datacenter is named as Datacenter:datacenter-3 is.
func isReference(name string) bool { return strings.HasPrefix(name, "Datacenter:") }

func rooted(path string) string { return "/" + strings.Trim(path, "/") }

// place is where the in-tree provider puts things.
type place struct{ server, datacenter, folder, datastore string }

// workspace reads what says so: [Workspace], or [Global] where vCenters have no sections. What is no INI has none.
func workspace(name string, data []byte) place {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if !config.LooksLikeINI(data) {
		return place{}
	}
	var global, own place
	alone := true
	sections, _ := config.ReadINI(name, data)
	for _, s := range sections {
		for _, e := range s.Entries {
			switch strings.ToLower(s.Name + "/" + e.Key) {
			case "workspace/server":
				own.server = e.Value
			case "workspace/datacenter":
				own.datacenter = e.Value
			case "workspace/folder":
				own.folder = e.Value
			case "workspace/default-datastore":
				own.datastore = e.Value
			case "global/server":
				global.server = e.Value
			case "global/datacenter":
				global.datacenter = e.Value
			case "global/working-dir":
				global.folder = e.Value
			case "global/datastore":
				global.datastore = e.Value
			}
		}
		alone = alone && !strings.EqualFold(s.Name, "VirtualCenter")
	}
	if alone {
		return global
	}
	return own
}

// add adds the folder of the nodes and the datastore of the volumes. What is in a datacenter that is a reference has no path.
func (p place) add(sites roles.Sites) {
	dc, named := rooted(p.datacenter), !isReference(p.datacenter)
	switch {
	case strings.HasPrefix(p.folder, "/"):
		sites[privilege.Machines] = []roles.Object{{Path: p.folder}}
	case p.folder != "" && named:
		sites[privilege.Machines] = []roles.Object{{Path: dc + "/vm/" + p.folder}}
	}
	switch {
	case strings.HasPrefix(p.datastore, "/"):
		sites[privilege.Datastore] = []roles.Object{{Path: p.datastore}}
	case p.datastore != "" && named:
		sites[privilege.Datastore] = []roles.Object{{Path: dc + "/datastore/" + p.datastore}}
	}
}
