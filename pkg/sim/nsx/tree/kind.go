package tree

import "strings"

// kind is what an NSX Manager knows of the objects at one place in the tree.
type kind struct {
	// types are the resource types. With more than one, an object must name its own.
	types []string
	// fields are those of each type, by its name, beyond the common ones.
	fields map[string]fields
	// fixed: only the system makes and changes these.
	fixed bool
}

// fields describes the fields of an object.
type fields map[string]field

func one(name string, f fields) kind {
	return kind{types: []string{name}, fields: map[string]fields{name: f}}
}

// pattern replaces the identifiers in a path by *, as the keys of kinds have it. It returns false for a path that is none of an
// object: it names a collection, or has empty parts.
func pattern(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, root+"/")
	if !ok {
		return "", false
	}
	parts := strings.Split(rest, "/")
	if len(parts)%2 != 0 {
		return "", false
	}
	for i, part := range parts {
		if part == "" {
			return "", false
		}
		if i%2 == 1 {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "/"), true
}

// root is the path of what has no other parent.
const root = "/infra"

// split returns the parent of a path, two elements up, and the identifier.
func split(path string) (parent, id string) {
	parts := strings.Split(path, "/")
	n := len(parts)
	return strings.Join(parts[:n-2], "/"), parts[n-1]
}

// kindOf returns the kind of the object at a path; false if the tree holds none there.
func (t *Tree) kindOf(path string) (kind, bool) {
	p, ok := pattern(path)
	k, known := t.kinds[p]
	return k, ok && known
}

// IsObject reports whether a path is one of an object that the tree may hold.
func (t *Tree) IsObject(path string) bool {
	_, ok := t.kindOf(path)
	return ok
}

// IsCollection reports whether a path is one of a collection that the tree knows.
func (t *Tree) IsCollection(path string) bool { return t.IsObject(path + "/x") }

// Names of fields that the code uses.
const (
	fieldType         = "resource_type"
	fieldName         = "display_name"
	fieldRevision     = "_revision"
	fieldConnectivity = "connectivity_path"
	fieldAddress      = "ip_address"
	fieldPorts        = "ports"
	fieldLBService    = "lb_service_path"
	fieldEdge         = "edge_cluster_path"
	fieldRequested    = "allocation_ip"
	fieldRanges       = "allocation_ranges"
	fieldReleaseDelay = "ip_release_delay"
)

// Patterns of kinds that the code uses.
const (
	lbServices     = "lb-services/*"
	virtualServers = "lb-virtual-servers/*"
	lbPools        = "lb-pools/*"
	appProfiles    = "lb-app-profiles/*"
	monitors       = "lb-monitor-profiles/*"
	persistences   = "lb-persistence-profiles/*"
	ipPools        = "ip-pools/*"
	allocations    = "ip-pools/*/ip-allocations/*"
	subnets        = "ip-pools/*/ip-subnets/*"
	tier0s         = "tier-0s/*"
	tier1s         = "tier-1s/*"
	localeServices = "tier-1s/*/locale-services/*"
	edgeClusters   = "sites/*/enforcement-points/*/edge-clusters/*"
)

// kinds returns the kinds by the patterns of their paths. Fields, limits and defaults are those of the Policy API's models
// (github.com/vmware/vsphere-automation-sdk-go/services/nsxt, model.LBService and so on).
func kinds() map[string]kind {
	active := fields{
		"fall_count": number(1, 2147483647).or(3), "interval": number(1, 2147483647).or(5), "rise_count": number(1, 2147483647).or(3),
		"timeout": number(1, 2147483647).or(5), "monitor_port": number(0, 65535),
	}
	flow := fields{"idle_timeout": number(1, 2147483647).or(1800)}
	persistence := fields{"persistence_shared": truth().or(false), "ha_persistence_mirroring_enabled": truth().or(false)}
	segment := one("Segment", fields{
		fieldConnectivity: path(tier0s, tier1s), "admin_state": choice("UP", "DOWN").or("UP"), "replication_mode": choice("MTEP", "SOURCE").or("MTEP"),
		"transport_zone_path": text(), "type": choice("ROUTED", "EXTENDED", "ROUTED_AND_EXTENDED", "DISCONNECTED"), "vlan_ids": list(text()),
		"domain_name": text(), "subnets": list(group(fields{"gateway_address": text(), "network": text(), "dhcp_ranges": list(text())})),
	})
	return map[string]kind{
		lbServices: one("LBService", fields{
			fieldConnectivity: path(tier1s), "enabled": truth().or(true), "size": choice("SMALL", "MEDIUM", "LARGE", "XLARGE", "DLB").or("SMALL"),
			"error_log_level":    choice("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "ALERT", "EMERGENCY").or("INFO"),
			"access_log_enabled": truth(), "relax_scale_validation": truth().or(false),
		}),
		virtualServers: one("LBVirtualServer", fields{
			fieldAddress: address().needed(), fieldPorts: list(portRange()).needed(), "application_profile_path": path(appProfiles).needed(),
			fieldLBService: path(lbServices), "pool_path": path(lbPools), "sorry_pool_path": path(lbPools),
			"lb_persistence_profile_path": path(persistences), "default_pool_member_ports": list(portRange()), "enabled": truth().or(true),
			"access_log_enabled": truth().or(false), "log_significant_event_only": truth().or(false),
			"max_concurrent_connections": number(1, 2147483647), "max_new_connection_rate": number(1, 2147483647),
			"access_list_control": anything(), "client_ssl_profile_binding": anything(), "server_ssl_profile_binding": anything(), "rules": list(anything()),
		}),
		lbPools: one("LBPool", fields{
			"active_monitor_paths": list(path(monitors)), "passive_monitor_path": path(monitors),
			"algorithm": choice("ROUND_ROBIN", "WEIGHTED_ROUND_ROBIN", "LEAST_CONNECTION", "WEIGHTED_LEAST_CONNECTION", "IP_HASH").or("ROUND_ROBIN"),
			"members": list(group(fields{
				fieldAddress: address().needed(), fieldName: text(), "port": portRange(), "admin_state": choice("ENABLED", "DISABLED", "GRACEFUL_DISABLED").or("ENABLED"),
				"backup_member": truth().or(false), "weight": number(1, 256).or(1), "max_concurrent_connections": number(1, 2147483647),
			})),
			"member_group": anything(), "min_active_members": number(1, 2147483647).or(1),
			"snat_translation": group(fields{
				"type": choice("LBSnatAutoMap", "LBSnatDisabled", "LBSnatIpPool").needed(), "ip_addresses": list(anything()),
			}),
			"tcp_multiplexing_enabled": truth().or(false), "tcp_multiplexing_number": number(0, 2147483647).or(6),
		}),
		appProfiles: {types: []string{"LBFastTcpProfile", "LBFastUdpProfile", "LBHttpProfile"}, fields: map[string]fields{
			"LBFastTcpProfile": flow.and(fields{"close_timeout": number(1, 60).or(8), "ha_flow_mirroring_enabled": truth().or(false)}),
			"LBFastUdpProfile": flow.and(fields{"idle_timeout": number(1, 2147483647).or(300), "flow_mirroring_enabled": truth().or(false)}),
			"LBHttpProfile": flow.and(fields{
				"idle_timeout": number(1, 5400).or(15), "request_header_size": number(1, 65536).or(1024), "response_header_size": number(1, 65536).or(4096),
				"response_timeout": number(1, 2147483647).or(60), "request_body_size": number(1, 2147483647), "response_buffering": truth().or(false),
				"http_redirect_to": text(), "http_redirect_to_https": truth().or(false), "ntlm": truth(), "server_keep_alive": truth().or(false),
				"x_forwarded_for": choice("INSERT", "REPLACE"),
			}),
		}},
		monitors: {types: []string{"LBTcpMonitorProfile", "LBHttpMonitorProfile", "LBHttpsMonitorProfile", "LBUdpMonitorProfile", "LBIcmpMonitorProfile", "LBPassiveMonitorProfile"}, fields: map[string]fields{
			"LBTcpMonitorProfile":     active.and(fields{"send": text(), "receive": text()}),
			"LBUdpMonitorProfile":     active.and(fields{"send": text(), "receive": text()}),
			"LBHttpMonitorProfile":    active.and(httpMonitor()),
			"LBHttpsMonitorProfile":   active.and(httpMonitor()).and(fields{"server_ssl_profile_binding": anything()}),
			"LBIcmpMonitorProfile":    active.and(fields{"data_length": number(0, 65507).or(56)}),
			"LBPassiveMonitorProfile": {"max_fails": number(1, 2147483647).or(5), "timeout": number(1, 2147483647).or(5)},
		}},
		persistences: {types: []string{"LBSourceIpPersistenceProfile", "LBCookiePersistenceProfile", "LBGenericPersistenceProfile"}, fields: map[string]fields{
			"LBSourceIpPersistenceProfile": persistence.and(fields{"purge": choice("NO_PURGE", "FULL").or("FULL"), "timeout": number(1, 2147483647).or(300)}),
			"LBGenericPersistenceProfile":  persistence.and(fields{"timeout": number(1, 2147483647).or(300)}),
			"LBCookiePersistenceProfile": {
				"persistence_shared": truth().or(false), "cookie_mode": choice("INSERT", "PREFIX", "REWRITE").or("INSERT"), "cookie_name": text().or("NSXLB"),
				"cookie_domain": text(), "cookie_path": text(), "cookie_fallback": truth().or(true), "cookie_garble": truth().or(true),
				"cookie_httponly": truth().or(false), "cookie_secure": truth().or(false), "cookie_time": anything(),
			},
		}},
		ipPools: one("IpAddressPool", fields{
			"ip_address_type": choice("IPV4", "IPV6"), fieldReleaseDelay: number(0, 86400000).or(120000), "check_overlap_with_existing_pools": truth().or(false),
			"sync_realization": truth(), "visibility": choice("PRIVATE", "PUBLIC"),
		}),
		allocations: one("IpAddressAllocation", fields{fieldRequested: address(), "sync_realization": truth()}),
		subnets: one("IpAddressPoolStaticSubnet", fields{
			"cidr": prefix().needed(), "gateway_ip": address(), "dns_nameservers": list(address()), "dns_suffix": text(), "sync_realization": truth(),
			fieldRanges: list(group(fields{"start": address().needed(), "end": address().needed()})).needed(),
		}),
		tier0s: one("Tier0", fields{"ha_mode": choice("ACTIVE_ACTIVE", "ACTIVE_STANDBY").or("ACTIVE_ACTIVE")}),
		tier1s: one("Tier1", fields{
			"tier0_path": path(tier0s), "failover_mode": choice("PREEMPTIVE", "NON_PREEMPTIVE").or("NON_PREEMPTIVE"), "ha_mode": choice("ACTIVE_STANDBY", "ACTIVE_ACTIVE", "ACTIVE_BACKUP"),
			"pool_allocation": choice("ROUTING", "LB_SMALL", "LB_MEDIUM", "LB_LARGE", "LB_XLARGE").or("ROUTING"), "type": choice("ROUTED", "ISOLATED", "NATTED"),
			"disable_firewall": truth().or(false), "enable_standby_relocation": truth().or(false), "route_advertisement_types": list(choice(
				"TIER1_STATIC_ROUTES", "TIER1_CONNECTED", "TIER1_NAT", "TIER1_LB_VIP", "TIER1_LB_SNAT", "TIER1_DNS_FORWARDER_IP", "TIER1_IPSEC_LOCAL_ENDPOINT")),
		}),
		localeServices: one("LocaleServices", fields{fieldEdge: path(edgeClusters)}),
		"tier-1s/*/static-routes/*": one("StaticRoutes", fields{
			"network": prefix().needed(), "enabled_on_secondary": truth().or(false),
			"next_hops": list(group(fields{fieldAddress: address(), "admin_distance": number(1, 255).or(1), "scope": list(text())})).needed(),
		}),
		"segments/*":           segment,
		"tier-1s/*/segments/*": segment,
		"sites/*":              {types: []string{"Site"}, fields: map[string]fields{"Site": {}}, fixed: true},
		"sites/*/enforcement-points/*": {
			types: []string{"EnforcementPoint"}, fields: map[string]fields{"EnforcementPoint": {}}, fixed: true,
		},
		edgeClusters: {types: []string{"PolicyEdgeCluster"}, fields: map[string]fields{"PolicyEdgeCluster": {"nsx_id": text()}}, fixed: true},
	}
}

func httpMonitor() fields {
	return fields{
		"request_body": text(), "request_headers": list(anything()), "request_method": choice("GET", "OPTIONS", "POST", "HEAD", "PUT").or("GET"),
		"request_url": text().or("/"), "request_version": choice("HTTP_VERSION_1_0", "HTTP_VERSION_1_1").or("HTTP_VERSION_1_1"),
		"response_body": text(), "response_status_codes": list(number(100, 599)),
	}
}
