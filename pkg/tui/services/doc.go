// Package services is the screen of the Services of type LoadBalancer: their addresses, and what NSX has made of them.
//
// Floor 4, in the tree of pkg/tui.
package services
