package tree

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// States of realization, as in model.GenericPolicyRealizedResource.
const (
	Realized   = "REALIZED"
	Unrealized = "UNREALIZED"
	Failed     = "ERROR"
)

// Realize returns what NSX has made of the object at a path: one realized entity, with its state.
func (t *Tree) Realize(path string) (Object, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, err := t.find(path)
	if err != nil {
		return nil, err
	}
	id := n.object.text("realization_id")
	entity := Object{
		"resource_type": "GenericPolicyRealizedResource", "entity_type": "Realized" + n.object.text(fieldType), "id": id, fieldName: n.object[fieldName],
		"path":         strings.Replace(path, root, root+"/realized-state/enforcement-points/default", 1),
		"intent_paths": []any{path}, "realization_specific_identifier": id, "enforcement_point_path": root + "/sites/default/enforcement-points/default",
		"state": Realized, "runtime_status": "UP", "publish_status": "REALIZED", "alarms": []any{}, "extended_attributes": []any{},
		fieldRevision: n.object[fieldRevision], "_create_time": n.object["_create_time"], "_last_modified_time": n.object["_last_modified_time"],
	}
	if n.due.After(time.Now()) {
		entity["state"], entity["runtime_status"], entity["publish_status"] = Unrealized, "IN_PROGRESS", "UNREALIZED"
		return entity, nil
	}
	if err := t.obstacle(n); err != nil {
		entity["state"], entity["runtime_status"], entity["runtime_error"] = Failed, "ERROR", err.Error()
		entity["publish_status"], entity["publish_status_error"] = "ERROR", err.Error()
		entity["alarms"] = []any{Object{"resource_type": "PolicyAlarmResource", "message": err.Error(), "source_reference": path, "source_site_id": ""}}
		return entity, nil
	}
	if n.pattern == allocations {
		entity["extended_attributes"] = []any{Object{"key": "allocation_ip", "data_type": "STRING", "multivalue": false, "values": []any{n.address.String()}}}
	}
	return entity, nil
}

// obstacle returns why NSX cannot realize an object, or nil.
func (t *Tree) obstacle(n *node) error {
	if err := t.obstructed(n); err != nil {
		return err
	}
	switch n.pattern {
	case allocations:
		if !n.address.IsValid() {
			_, err := t.allocate(n)
			return err
		}
	case lbServices:
		return t.serviceObstacle(n)
	case virtualServers:
		return t.serverObstacle(n)
	}
	return nil
}

// serviceObstacle: a load balancer service runs on the edge cluster of its gateway, which has one service.
func (t *Tree) serviceObstacle(n *node) error {
	gateway := n.object.text(fieldConnectivity)
	if gateway == "" || n.object["size"] == "DLB" {
		return nil
	}
	if !slices.ContainsFunc(t.below(gateway, localeServices), func(l *node) bool { return l.object.text(fieldEdge) != "" }) {
		return fmt.Errorf("the gateway %s of the load balancer service has no edge cluster", gateway)
	}
	for _, other := range t.kin(n) {
		if other.object.text(fieldConnectivity) == gateway && older(other, n) {
			return fmt.Errorf("the gateway %s has another load balancer service, %s", gateway, other.path)
		}
	}
	return nil
}

// serverObstacle: an address and a port belong to one virtual server of a load balancer service.
func (t *Tree) serverObstacle(n *node) error {
	service := n.object.text(fieldLBService)
	if service == "" {
		return nil
	}
	for _, other := range t.kin(n) {
		if other.object.text(fieldLBService) == service && other.object[fieldAddress] == n.object[fieldAddress] &&
			t.protocol(other) == t.protocol(n) && overlap(texts(other.object[fieldPorts]), texts(n.object[fieldPorts])) && older(other, n) {
			return fmt.Errorf("the virtual server %s has the same address and port", other.path)
		}
	}
	return nil
}

// protocol returns the protocol of a virtual server, which is that of its application profile.
func (t *Tree) protocol(n *node) string {
	if p := t.nodes[n.object.text("application_profile_path")]; p != nil && p.object.text(fieldType) == "LBFastUdpProfile" {
		return "UDP"
	}
	return "TCP"
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool {
			first, last, _ := portsOf(x)
			from, to, _ := portsOf(y)
			return first <= to && from <= last
		})
	})
}

// kin returns the other objects of a kind.
func (t *Tree) kin(n *node) []*node {
	var all []*node
	for _, other := range t.nodes {
		if other != n && other.pattern == n.pattern && !other.gone {
			all = append(all, other)
		}
	}
	slices.SortFunc(all, byPath)
	return all
}

func byPath(a, b *node) int { return strings.Compare(a.path, b.path) }

// older reports whether a was created before b.
func older(a, b *node) bool { return a.number < b.number }
