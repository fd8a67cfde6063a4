package topology

// checkPools checks the resource pools and vApps of a compute resource or a pool, and those below them.
func checkPools(p *problems, m *marking, pools []Pool, vapps []VApp, at *path, depth int) {
	names := newScope(p, "resource pool or vApp")
	for i := range pools {
		pool, at := &pools[i], at.key("pools").item(i)
		checkName(p, at.key("name"), pool.Name, inventoryName)
		names.add(pool.Name, at.key("name"))
		m.check(pool.Marks, Place{}, typePool, at)
		if depth == maxPoolDepth && len(pool.Pools)+len(pool.VApps) > 0 {
			p.field(at, "", "has pools or vApps below it, which would be deeper than the %d levels that vSphere nests", maxPoolDepth)
			continue
		}
		checkPools(p, m, pool.Pools, pool.VApps, at, depth+1)
	}
	for i := range vapps {
		vapp, at := &vapps[i], at.key("vapps").item(i)
		checkName(p, at.key("name"), vapp.Name, inventoryName)
		names.add(vapp.Name, at.key("name"))
		m.check(vapp.Marks, Place{}, typeVApp, at)
	}
}

// poolPaths adds the paths of pools and vApps below prefix to the scope.
func poolPaths(into *scope, pools []Pool, vapps []VApp, prefix string, depth int) {
	if depth > maxPoolDepth {
		return
	}
	for i := range pools {
		path := join(prefix, pools[i].Name)
		into.enter(path, nil)
		poolPaths(into, pools[i].Pools, pools[i].VApps, path, depth+1)
	}
	for i := range vapps {
		into.enter(join(prefix, vapps[i].Name), nil)
	}
}
