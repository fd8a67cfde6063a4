package bench

// Topology has VMs of every sort: node-1 with everything, node-2 beside it, node-3 in another zone and datacenter, node-4
// in another vCenter, one that is off, one without tools, one with snapshots, and a template.
const Topology = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: test}
spec:
  tagCategories:
    - {name: class, cardinality: multiple, types: [VirtualMachine]}
  vcenters:
    - name: us
      datacenters:
        - name: west
          region: us
          zone: us-west
          networks: [{name: nodes, cidr: 10.0.0.0/24}, {name: storage}]
          switches: [{name: dvs, portGroups: [{name: pods}]}]
          datastores:
            - {name: shared, capacity: 2Ti}
            - {name: local-3, capacity: 100Gi, clusters: [c2]}
          clusters:
            - {name: c1, hosts: [{name: "esx-{n}", replicas: 2}], pools: [{name: prod}]}
            - {name: c2, zone: us-attic, hosts: [{name: esx-3}]}
          vms:
            - name: node-1
              host: esx-1
              pool: prod
              folder: k8s/workers
              role: worker
              hostname: node-1.example.org
              cpus: 4
              memory: 8Gi
              datastore: shared
              guestInfo: "yes"
              tags: [{category: class, name: gold}, {category: class, name: silver}]
              extraConfig: [{key: guestinfo.owner, value: somebody}]
              nics:
                - {network: nodes, addresses: [10.0.0.11/24, "2001:db8::11/64"]}
                - {network: storage, addresses: [10.1.0.11/24]}
                - {network: pods, addresses: [10.2.0.11/24]}
            - {name: node-2, host: esx-2, folder: k8s/workers, datastore: shared, role: worker, nics: [{network: nodes, addresses: [10.0.0.12/24]}]}
            - {name: off-1, host: esx-1, datastore: shared, power: "off"}
            - {name: mute-1, host: esx-1, datastore: shared, tools: "no"}
            - {name: snapped, host: esx-1, datastore: shared, snapshots: [{name: before}]}
            - {name: plain, host: esx-1, datastore: shared, nics: [{network: storage, addresses: ["2001:db8:1::5/64"]}]}
            - {name: tpl, host: esx-1, datastore: shared, template: "yes"}
        - name: east
          region: us
          zone: us-east
          networks: [{name: nodes}, {name: storage}]
          switches: [{name: dvs, portGroups: [{name: pods}]}]
          hosts: [{name: esx-9}]
          vms: [{name: node-3, role: worker}]
    - name: eu
      datacenters:
        - name: dc
          region: eu
          zone: eu-all
          hosts: [{name: esx-1}]
          vms: [{name: node-4, role: worker}]
`
