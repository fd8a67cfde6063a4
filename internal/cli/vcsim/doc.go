// Package vcsim has the flags of vcsim, and is the program itself where it is started under that name: suites that are made for
// vcsim run with ours in its place by PATH alone.
//
//	ln -s $(which vsphere-sandbox) ~/bin/vcsim
//	vcsim -l 127.0.0.1:0 -E fifo
//
// It prints what vcsim prints and ends as vcsim does; the vCenter is one of "vcenter up", with its corrections. Without
// -username, every login is accepted.
package vcsim
