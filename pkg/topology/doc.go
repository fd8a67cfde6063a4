// Package topology is the desired inventory of a sandbox, written in YAML: named vCenters with datacenters, compute
// clusters, hosts, datastores, networks and VMs, and the regions and zones they lie in.
//
// [Load] reads such a file strictly: it reports unknown and repeated keys, wrong types, colliding names, references to nothing
// and values that no vCenter accepts, all at once as [Errors], each with its line, its field path and, if there is a similar
// name, a suggestion. It returns a resolved topology: replica groups are expanded, defaults are set, every VM is placed on a host
// and a datastore, and all identities (UUIDs, MAC and IP addresses) are derived from the topology's seed and the object's path,
// so that a file gives the same inventory on every computer. [Marshal] writes a resolved topology as a file that loads to an
// equal one.
//
// A file may include others and have parameters (see [Preamble]): [LoadFile] and [LoadFS] read it with its included files, and
// take values of parameters. [Schema] is for editors. Package graph draws a loaded topology.
//
// The smallest topology with a node:
//
//	apiVersion: sandbox.vsphere/v1alpha1
//	kind: Topology
//	metadata: {name: tiny}
//	spec:
//	  vcenters:
//	    - name: vc
//	      datacenters:
//	        - name: dc
//	          region: home
//	          zone: attic
//	          hosts: [{name: esx-1}]
//	          vms: [{name: worker-1, role: worker}]
//
// The package holds plain data. It does not use the simulator or Kubernetes, but it checks names by the rules of Kubernetes where
// they are used there.
//
// Floor 0: of this module it imports only package stock below it.
package topology
