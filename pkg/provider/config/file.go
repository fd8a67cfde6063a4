package config

// file is a configuration as written, whichever form it is written in: nothing inherited, nothing checked but types.
type file struct {
	format   Format
	global   endpoint
	vcenters map[string]*endpoint // by tenant
	labels   labels
	nodes    nodes
	// skipNodeDeletion and alphaDualStack are what the environment switches on.
	skipNodeDeletion, alphaDualStack bool
	// lost is set when a section that may be a vCenter's could not be read.
	lost bool
	// name is that of the file itself, for what has no line.
	name string
}

// endpoint is the global section or one vCenter; the second inherits from the first.
type endpoint struct {
	at position // of the section

	server, user, password        cell[string]
	port, soapRoundtripCount      cell[int]
	insecureFlag                  cell[bool]
	caFile, thumbprint            cell[string]
	datacenters, ipFamily         cell[[]string]
	secretName, secretNamespace   cell[string]
	secretsDirectory, datacenter1 cell[string] // the global section's; the second is the in-tree provider's, in its old form
}

type labels struct {
	region, zone cell[string]
}

// nodes holds lists with commas, as upstream has them.
type nodes struct {
	internalSubnets, externalSubnets               cell[string]
	internalNetwork, externalNetwork               cell[string]
	excludeInternalSubnets, excludeExternalSubnets cell[string]
}

// vcenter returns the endpoint of a tenant, made at the position when there was none.
func (f *file) vcenter(tenant string, at position) *endpoint {
	e := f.vcenters[tenant]
	if e == nil {
		if f.vcenters == nil {
			f.vcenters = map[string]*endpoint{}
		}
		e = &endpoint{at: at}
		f.vcenters[tenant] = e
	}
	return e
}
