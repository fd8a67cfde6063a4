package topology

// The largest volumes: of VMFS 6, and of anything else that a slip of a digit makes.
const (
	maxVMFS     = 64 * Ti
	maxCapacity = 4096 * Ti
)

func checkDatastores(p *problems, m *marking, s *site, hosts, clusters *scope) {
	datastores := newScope(p, "datastore")
	for i := range s.datacenter.Datastores {
		datastore, at := &s.datacenter.Datastores[i], s.at.key("datastores").item(i)
		checkName(p, at.key("name"), datastore.Name, inventoryName)
		datastores.add(datastore.Name, at.key("name"))
		most := maxCapacity
		if datastore.Type == VMFS {
			most = maxVMFS
		}
		checkMost(p, at.key("capacity"), datastore.Capacity, most)
		if datastore.Used > max(datastore.Capacity, 0) {
			p.field(at.key("used"), "", "is more than the datastore holds, which is %v", datastore.Capacity)
		}
		checkMembers(s, datastore.Hosts, datastore.Clusters, at, hosts, clusters)
		m.check(datastore.Marks, Place{}, typeDatastore, at)
	}
}
