package reported

import (
	"fmt"
	"strings"
)

// place is a datacenter, by vCenter. The first two vCenters are the topology of #294: two with three datacenters.
type place string

const (
	west  place = "us/west"
	east  place = "us/east"
	north place = "eu/north"
	hall  place = "crowd/hall"
	cell  place = "few/cell" // of a vCenter with room for few sessions
)

const (
	crowd = 50 // nodes that join at once
	few   = 12
	// sessions is what the vCenter few has room for: two of the lab itself, and a CCM's one for SOAP and one for REST.
	sessions = 4
)

// topologyText has the machines of all reports.
func topologyText(all []phase) string {
	vms := map[place]string{
		hall: fmt.Sprintf("      - {name: \"crowd-{nn}\", replicas: %d, role: worker}\n", crowd),
		cell: fmt.Sprintf("      - {name: \"few-{nn}\", replicas: %d, role: worker}\n", few),
	}
	cluster := map[place]string{west: "w1", east: "e1", north: "n1"}
	for _, r := range reportsOf(all) {
		for _, v := range r.vms {
			if v.at == "" {
				v.at = west
			}
			line := fmt.Sprintf("name: %s, cluster: %s, role: worker", v.name, cluster[v.at])
			if v.more != "" {
				line += ", " + v.more
			}
			vms[v.at] += "      - {" + line + "}\n"
		}
	}
	return strings.NewReplacer(
		"WEST\n", vms[west], "EAST\n", vms[east], "NORTH\n", vms[north], "HALL\n", vms[hall],
		"CELL\n", vms[cell], "SESSIONS", fmt.Sprint(sessions),
	).Replace(`
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: reported}
spec:
  vcenters:
  - name: us
    datacenters:
    - name: west
      region: us-west
      networks:
      - {name: inside, cidr: 10.20.0.0/16}
      - {name: outside, cidr: 203.0.113.0/24}
      clusters:
      - {name: w1, zone: us-west-1, hosts: [{name: "w1-{n}", replicas: 2}]}
      - {name: w2, zone: us-west-2, hosts: [{name: w2-1}]}
      vms:
WEST
    - name: east
      region: us-east
      clusters: [{name: e1, zone: us-east-1, hosts: [{name: e1-1}]}]
      vms:
EAST
  - name: eu
    datacenters:
    - name: north
      region: eu-north
      clusters: [{name: n1, zone: eu-north-1, hosts: [{name: n1-1}]}]
      vms:
NORTH
  - name: crowd
    datacenters:
    - name: hall
      region: crowd
      clusters: [{name: h1, zone: crowd-1, hosts: [{name: h1-1}]}]
      vms:
HALL
  - name: few
    sessions: {limit: SESSIONS}
    datacenters:
    - name: cell
      region: few
      clusters: [{name: c1, zone: few-1, hosts: [{name: c1-1}]}]
      vms:
CELL
`)
}
