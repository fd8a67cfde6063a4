// Package sample is a run to try reports with: made up, of every verdict, with awkward texts.
//
// Only tests import it.
package sample
