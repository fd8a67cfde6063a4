// Package loadbalancer makes load balancers in NSX-T for Services: cloudprovider.LoadBalancer with the objects that upstream's
// provider makes, their names, tags and fields.
//
// A Service has in NSX an IP address allocation, and for each port a virtual server, a pool with the nodes, and for TCP a
// monitor. A cluster has one load balancer service at its gateway, which goes with the last virtual server.
//
// # Whose an object is
//
// Tags say it: the owner, the cluster's name and the Service. Names of clusters are not unique, so the identifier of an object
// says more: it has a fingerprint of the cluster's UID. An object with the tags and the fingerprint is certainly ours. One with
// the tags and an identifier of another form, as upstream's provider makes them, is ours if its address is in the status of the
// Service. Any other is left alone. So two clusters of one name at one NSX do not touch each other's objects.
//
// The rest of an identifier depends on the Service's UID and port: making an object twice finds the first one. A process that
// ends in the middle of its work, or whose answer is lost, leaves nothing that the next one does not find.
//
// # What is read
//
// The objects of the cluster are kept in memory. They are read when an operation begins and the last reading is some seconds
// ago, and after every doubt: an error, a conflict. [Balancer.Run] reads every half hour, and deletes objects that are certainly
// ours if the API server confirms that their Service is gone.
//
// Floor 1, inside pkg/provider.
package loadbalancer
