package tree

// placed is an object with its path.
type placed struct {
	path   string
	object Object
}

// builtIn returns what every NSX Manager has from the start, with NSX's identifiers.
func builtIn() []placed {
	all := []placed{
		{root + "/sites/default", Object{}},
		{root + "/sites/default/enforcement-points/default", Object{}},
	}
	for _, p := range []struct{ collection, id, kind string }{
		{"lb-app-profiles", "default-tcp-lb-app-profile", "LBFastTcpProfile"},
		{"lb-app-profiles", "default-udp-lb-app-profile", "LBFastUdpProfile"},
		{"lb-app-profiles", "default-http-lb-app-profile", "LBHttpProfile"},
		{"lb-monitor-profiles", "default-tcp-lb-monitor", "LBTcpMonitorProfile"},
		{"lb-monitor-profiles", "default-http-lb-monitor", "LBHttpMonitorProfile"},
		{"lb-monitor-profiles", "default-https-lb-monitor", "LBHttpsMonitorProfile"},
		{"lb-monitor-profiles", "default-icmp-lb-monitor", "LBIcmpMonitorProfile"},
		{"lb-monitor-profiles", "default-passive-lb-monitor", "LBPassiveMonitorProfile"},
		{"lb-persistence-profiles", "default-cookie-lb-persistence-profile", "LBCookiePersistenceProfile"},
		{"lb-persistence-profiles", "default-source-ip-lb-persistence-profile", "LBSourceIpPersistenceProfile"},
	} {
		all = append(all, placed{root + "/" + p.collection + "/" + p.id, Object{fieldType: p.kind}})
	}
	return all
}

// EdgeClusters is the path of the edge clusters of the default enforcement point.
const EdgeClusters = root + "/sites/default/enforcement-points/default/edge-clusters"
