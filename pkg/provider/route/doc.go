// Package route makes routes to the pods of nodes in NSX-T: cloudprovider.Routes with a static route of a tier-1 gateway for each
// node and pod CIDR, with the identifiers, names, tags and fields of upstream's provider.
//
// # Whose a route is
//
// A route has a tag with the UID of its cluster beside upstream's tags with the names of the cluster and the node, because names of
// clusters are not unique. A route with both the name and the UID is certainly ours. Upstream's routes have no UID, but their
// identifier begins with the UID of the node: [Routes.CreateRoute] of that node adopts them. Any other route is neither listed nor
// changed nor deleted. A route of another owner to the same network is an error, and not a second route.
//
// # What is read
//
// The routes of the gateway are read at most once a minute, and after every doubt: an error, a conflict. Then also the next hop of
// a route is corrected whose node has another address.
//
// Floor 1, inside pkg/provider.
package route
