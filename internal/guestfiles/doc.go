// Package guestfiles gives a program files below /etc that are another folder's, and names that only it resolves: what a guest of a
// Supervisor has, on a machine that is no such guest.
//
// The program runs in its own mount namespace. Nothing of the machine changes.
//
// Floor 0.
package guestfiles
